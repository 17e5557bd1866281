"""Anatomy of a figure whose roles are known: the axes of its joints, and how far they go."""
