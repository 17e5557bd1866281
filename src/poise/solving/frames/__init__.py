"""Solving over time: clips and moving targets."""
