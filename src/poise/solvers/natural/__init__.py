"""Poses that people keep: a figure's body first, then its limbs, then whatever is left by the engine."""
