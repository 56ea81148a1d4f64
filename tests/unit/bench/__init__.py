"""The benchmarks' own arithmetic; what they measure is never asserted."""
