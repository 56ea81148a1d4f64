"""gRPC in and out: protobuf stops here."""
