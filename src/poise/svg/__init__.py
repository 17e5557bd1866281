"""Charts drawn as SVG, without Matplotlib."""
