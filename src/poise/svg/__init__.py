"""SVG charts: axes, curves and bars. Colours come from the style of the surrounding page."""
