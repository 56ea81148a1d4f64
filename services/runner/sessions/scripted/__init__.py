"""An agent without a model: it does what the prompt says, for tests and the demo."""
