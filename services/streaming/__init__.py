"""Streaming: agent sessions and their events, and feeds of domain events; both resumable, both read through hubs."""
