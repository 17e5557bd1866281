"""Charts drawn as SVG: axes, curves and bars that take their colours from the page they stand in."""
