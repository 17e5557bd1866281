"""Terrain files: height maps and meshes.

`map_reading.py` reads pictures and arrays, `map_files.py` builds height maps from them, `mesh_files.py` reads meshes,
and `needs.py` names a missing extra.
"""
