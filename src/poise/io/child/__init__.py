"""Readers in a separate process, safe from crashing libraries."""
