"""Tests: unit, integration, contract, e2e, browser, and benchmarks (never part of `make test`)."""
