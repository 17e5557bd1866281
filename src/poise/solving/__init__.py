"""Solve inverse kinematics problems and evaluate the results.

solve() and prepare() (solve.py) check their arguments (arguments.py), choose a solver and pack the problem.
execution.py runs it for one target or a batch, batch.py splits large batches and handles optional goals, and result.py
holds the Result. Errors, limit violations and the reason for a missed goal are computed independently of the solver
(diagnosis.py) and written as text by messages.py. bake.py solves every frame of a clip, tracker.py follows moving
targets, and fit.py fits a skeleton to joint positions.
"""
