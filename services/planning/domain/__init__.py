"""Planning, pure: plans, objectives, snapshots, turns, lineage. Knows no database and no gRPC."""
