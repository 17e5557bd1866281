"""Arrays and numbers without a skeleton: rotations, vectors, argument checks."""
