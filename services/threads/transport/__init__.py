"""gRPC in, gRPC out. Protobuf stops here."""
