"""File formats, one module each; the folder is the registry.

A format module has NAME, SUFFIXES, and `read(path) -> Rig` or `write(thing, path, like)` or both. Larger parts are
modules or packages beside this folder.
"""
