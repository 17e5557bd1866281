"""What is differentiated by JAX."""
