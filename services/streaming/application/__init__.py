"""Use cases of streaming, over ports that the adapters fill."""
