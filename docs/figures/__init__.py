"""Figures of the documentation: one module each, drawn at every build from real solves; see `_style` and `_build`."""
