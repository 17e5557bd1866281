"""Batch processing: many files in, a folder and a result table out."""
