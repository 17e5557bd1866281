"""One module per file format; the folder is the registry.

A format module has NAME, SUFFIXES, and `read(path) -> Rig` or `write(thing, path, like)` or both. Modules
whose names begin with an underscore are shared parts, not formats.
"""
