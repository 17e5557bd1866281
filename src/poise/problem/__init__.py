"""What is solved: goals, and a start pose packed for the kernels."""
