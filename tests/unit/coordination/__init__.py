"""Coordination: the pure parts."""
