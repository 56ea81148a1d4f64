"""Alembic revisions of the threads database."""
