"""What this machine does: kernels compiled ahead of time, the figures of `poise bench`."""
