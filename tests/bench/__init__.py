"""Benchmarks (design/quality.md, "Benchmarks"): `python -m tests.bench [B1 …]`. Never collected by pytest, no timing
assertion anywhere: a figure that falls short is printed as short."""
