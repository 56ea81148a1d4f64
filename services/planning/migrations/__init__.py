"""Alembic revisions of the planning database."""
