"""Coordination: a coordinator conversation and its parallel workers (design/coordination.md)."""
