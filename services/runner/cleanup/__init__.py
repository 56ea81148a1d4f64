"""Taking the source of a thread away (design/threads.md, section 3.10)."""
