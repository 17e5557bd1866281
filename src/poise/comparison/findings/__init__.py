"""Metrics, ranks, tables and the verdict of a comparison."""
