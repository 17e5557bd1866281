"""What the benchmarks promise."""
