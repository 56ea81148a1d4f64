"""The Pi coding agent over its RPC mode (design/streaming.md D2)."""
