"""`treadle`, the command: it starts Treadle, and it speaks to a running one over REST as a person would."""
