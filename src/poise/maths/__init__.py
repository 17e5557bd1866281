"""Arrays and numbers, without a skeleton: rotations, vectors, checks of what people type."""
