"""What a runner is given and what it answers, as frozen values."""
