"""Workers of coordination: brought to their session, watched, reported."""
