"""Conversion of rigs and clips between file formats."""
