"""Alembic revisions of the streaming database."""
