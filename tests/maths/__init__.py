"""Rotations and angles."""
