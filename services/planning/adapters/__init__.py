"""Planning's ports on Postgres, NATS and streaming."""
