"""What people call themselves: the functions of `maths` with every argument checked."""
