"""Rigs of several scenes."""
