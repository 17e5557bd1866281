"""Batch processing: one job per file, in processes or on a cluster.

`each` runs the jobs; `process_pool` is the default pool of worker processes.
"""
