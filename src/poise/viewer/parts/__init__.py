"""GLB assets for the page."""
