"""Terrain of any kind: planes, slopes, stairs, noise, height maps, meshes, functions.

`terrain.py` is the public class; a `surface.py` answers heights, normals and rays. `shapes.py`, `noise.py`,
`heightmap.py`, `mesh.py` and `function.py` are surfaces, `rays/` intersects them, `files/` reads them, and `words.py`
parses the text of the command line, such as `stairs:0.15,0.30`.
"""
