"""From log folders to tables: the `report` and `leaderboard` commands. Reports know records, not benchmarks' data."""
