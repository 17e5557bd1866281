"""Output of a command: results, tables, progress, output paths."""
