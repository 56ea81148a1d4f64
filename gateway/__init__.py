"""The gateway: HTTP in, gRPC out. Small and stateless; it knows no business rule (design/gateway.md)."""
