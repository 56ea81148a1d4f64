"""Hand-written fakes that stand under the same suite as the real thing."""
