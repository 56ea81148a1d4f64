"""`treadle verify` over several databases at once."""
