"""Methods side by side: the same targets for each, judged by forward kinematics, timed in turns.

    start, goal --targets--> Task --runs--> Run per method and set --ranks--> Comparison --> table, report/

`compare.py` has poise.compare(). Nothing here believes a method: what is left is measured from the q that it gives.
"""
