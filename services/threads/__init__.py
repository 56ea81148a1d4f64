"""The threads context: matters of work under a state machine with human gates (design/threads.md)."""
