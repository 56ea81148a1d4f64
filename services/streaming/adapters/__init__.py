"""Postgres and NATS behind the ports of `application`."""
