"""Tasks, methods, runs and timing of a comparison."""
