"""Alembic revisions of the coordination database."""
