"""Rays that meet the ground: marched, or walked over a grid in plan."""
