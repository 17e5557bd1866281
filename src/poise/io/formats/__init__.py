"""One module per file format; the folder is the registry.

A format module has NAME, SUFFIXES, and `read(path) -> Rig` or `write(thing, path, like)` or both. Its larger parts
stand in a folder of its own beside this one.
"""
