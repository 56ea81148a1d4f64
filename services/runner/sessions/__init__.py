"""Agents of several kinds behind one port (design/streaming.md S.8)."""
