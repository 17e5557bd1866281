"""What a command tells: answers, tables, progress, where files go."""
