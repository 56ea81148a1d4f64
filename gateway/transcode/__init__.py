"""Between HTTP and gRPC: routes, JSON and queries, all read from the descriptors; nothing is written by hand."""
