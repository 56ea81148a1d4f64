"""What coordination does, over the ports that it names."""
