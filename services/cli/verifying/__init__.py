"""What `treadle verify` looks at: each service's database by that service's own checks, then across them."""
