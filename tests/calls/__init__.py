"""Argument checks and old names."""
