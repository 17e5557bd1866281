"""Ray intersection with terrain, by marching or by a plan grid.

`march.py` steps along a ray by the steepest slope of a height field. For meshes `plan_grid.py` and `triangle_cells.py`
sort triangles into cells, `slab.py` clips rays, and `mesh_edges.py` finds the nearest outer edge.
"""
