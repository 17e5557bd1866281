"""Stride fitting: change the step length of a clip to the terrain.

`footfalls.py` and `treads.py` find the footfalls and the stair treads below them, `search.py` and `fit.py` choose the
step length, `strided.py` applies it to the motion, and `judged.py` compares the planted results.
"""
