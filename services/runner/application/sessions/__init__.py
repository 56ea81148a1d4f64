"""How a session is held: attach, say, hear, settle, keep the state (design/streaming.md S.5, S.7)."""
