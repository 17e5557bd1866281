"""Figures of the documentation, one module each, drawn from real solves at every build.

`_style` has the common look, `_build` draws outdated figures.
"""
