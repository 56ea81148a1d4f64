"""Planning: objective and plan tree of a conversation, snapshots, branches (design/planning.md)."""
