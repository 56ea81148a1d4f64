"""Use cases of planning, over ports."""
