"""Legs on the ground as one least-squares problem over all frames.

`leg_problem.py` holds the unknowns of a motion and what is asked of them, `residuals.py` measures a try and its
derivatives, `solver.py` finds the best values block by block, `settling.py` makes the problem of a clip whose feet are
down and turns its solution into rotations. kernels/trajectory.py computes one step, kernels/ground/leg_moves.py moves
legs.
"""
