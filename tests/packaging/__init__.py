"""The package as a whole: its names, its examples."""
