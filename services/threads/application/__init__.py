"""Use cases of threads: load, decide, append, in one transaction; ports for what they need."""
