"""Coordination on a real Postgres and a real nats-server."""
