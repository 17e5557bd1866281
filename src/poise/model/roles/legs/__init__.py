"""Legs of bipeds, quadrupeds and multi-legged creatures."""
