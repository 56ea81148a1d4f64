"""The runner: executes what the services ask for (inference, approved actions). Owns no data, imports no service."""
