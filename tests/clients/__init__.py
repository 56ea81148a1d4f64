"""Real third-party clients on the streams: they are cut at random, come back by themselves, and must agree."""
