"""Readers of marker files: points over time, without a skeleton."""
