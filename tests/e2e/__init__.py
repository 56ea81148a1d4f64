"""Whole processes: one matter end to end, kills and restarts, two of each."""
