"""Batch processing: one job per file, in processes or on a cluster.

`each` runs the jobs, by default in a pool of worker processes.
"""
