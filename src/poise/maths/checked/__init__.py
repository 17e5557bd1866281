"""Public functions of `maths` with every argument checked."""
