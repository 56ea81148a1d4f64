"""Postgres and the bus, behind the ports of the application. Rows stop here."""
