"""Each method."""
