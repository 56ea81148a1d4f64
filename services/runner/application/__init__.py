"""How a runner works: claim, hold the lease, do, report, drain."""
