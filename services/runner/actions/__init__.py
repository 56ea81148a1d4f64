"""The runner's built-in actions (design/threads.md §0.10). Each module owns one action and its parameter schema."""
