"""Kernel compilation and benchmarks of this machine."""
