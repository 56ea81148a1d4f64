"""Postgres, NATS and the streaming service behind the ports of `application`."""
