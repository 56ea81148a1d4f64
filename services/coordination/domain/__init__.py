"""What a worker is and what may be said of it; pure, without clock, database or wire."""
