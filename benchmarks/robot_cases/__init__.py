"""Robots that others made: where their files are, what is asked of them, and who judges the answers."""
