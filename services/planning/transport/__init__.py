"""Planning's gRPC services."""
