"""File formats, one module each; the folder is the registry.

A module reads a path into a `Rig`, or writes a rig, clip or pose.

A format module has NAME, SUFFIXES, and `read(path) -> Rig` or `write(thing, path, like)` or both. Its larger parts
stand in a folder of its own beside this one.
"""
