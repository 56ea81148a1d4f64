"""Any OpenAI-compatible chat endpoint as an agent without tools."""
