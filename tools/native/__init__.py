"""Build of the library of kernels: capture, optimise, link. `scripts/kernels` runs it."""
