"""The command groups: options and help only. What a command does is imported when it runs."""
