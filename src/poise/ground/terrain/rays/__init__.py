"""Ray intersection with terrain, by marching or by a plan grid.

`march.py` steps along a ray by the steepest slope of a height field, `plan_grid.py` leads rays from cell to cell.
"""
