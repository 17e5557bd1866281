"""What holds for every solver, goal, limit, format, terrain and verb for whole clips, asked of each in the same way."""
