"""One least-squares problem over all frames."""
