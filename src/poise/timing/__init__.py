"""How long calls take."""
