"""Base classes and checks of the goals."""
