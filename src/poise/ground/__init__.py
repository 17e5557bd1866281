"""Feet on the ground: terrain, contacts, planting and locking of whole clips."""
