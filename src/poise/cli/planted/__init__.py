"""Foot planting of one clip, and of every clip of a file."""
