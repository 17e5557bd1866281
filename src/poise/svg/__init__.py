"""Charts and stick figures drawn as SVG, without Matplotlib."""
