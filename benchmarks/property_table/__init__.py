"""The table of properties: what each method is like.

sources.py counts lines of code, table.py gathers what was measured, words.py finds a word for each number.
"""
