"""Compare inverse kinematics methods on the same targets.

compare() in compare.py builds a Task (task.py) from a start and a goal, runs every method on it (method.py, runs.py)
and returns a Comparison. Methods are solvers of Poise and other libraries (peers/). Errors and limit
violations are measured by forward kinematics of each answer, never taken from the method; metrics.py computes metrics
and ranks, results.py the table and the verdict, report/ the page and the figures. live.py follows a moving
target, as in a race of the viewer, with the same runs and columns.

    start, goal --targets--> Task --runs--> Run per method and set --ranks--> Comparison --> table, report/

Targets are made without a solver, by forward kinematics of legal poses: anywhere, along a path, at almost full
extension, near singular poses, and beyond the reach and back. An exception of a method counts as a miss. Conversions of
targets and answers for a method are not timed.
"""
