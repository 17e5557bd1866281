"""Solve inverse kinematics problems and evaluate the results.

solve() and prepare() (solve.py) check their arguments (arguments.py), choose a solver and pack the problem.
single_target.py runs it for one target, with a fast path for serial arms (arm_fast_path.py), and batch_result.py for a
batch. batch.py splits large batches, optional_goals.py handles optional goals, pulls.py pulls, and result.py holds the
Result. Errors, limit violations and the reason for a missed goal are computed independently of the solver
(diagnosis.py) and written as text by messages.py. bake.py solves every frame of a clip without jumps (jump_removal.py),
tracker.py follows moving targets, and fit.py fits a skeleton to joint positions.

Steps of a solve: the start is moved inside its limits; the solver gets the problem, target rows and tolerances and
returns configurations; answers for sheared trees are corrected (solvers/base/answer_refinement.py); errors are measured
on the skeleton's own rows. A batch is split into parts for the threads. A batch of starts is solved plan by plan: a
clip with moving hips is one batch, one with animated bone lengths is many. A single target takes a shorter path with
the same bits: solver, tolerance and settings are cached with the skeleton, and status, message and other fields of the
Result are computed on first access.

Optional goals: problem/problem.py derives problems without options (all goals; all with smaller weights of the optional
ones; the required ones alone), and optional_goals.py solves them in this order, each from the pose of the one before.
Goals with a pull below 1: pulls.py solves without and with them, and takes the figure a share of the way.
"""
