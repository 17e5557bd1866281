"""Solving, baking, fitting, tracking, and what a result says."""
