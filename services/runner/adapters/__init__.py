"""The runner's way to the services: gRPC stubs and the JSON of payloads and results."""
