"""Stride fitting: change the step length of a clip to the terrain.

`footfalls.py` finds the footfalls, `search.py` the stair treads below them and the step lengths, `strided.py` applies
these to the motion, and `fit.py` tries variants and rates the planted results.
"""
