"""Helpers shared by the limits."""
