"""Leg motion of a character in metres with z up, for planting.

`figure.py` has the legs and their size, `motion.py` their positions over time, `footing.py` the terrain in these units.
`speeds.py` computes velocities and lowest levels without crossing a cut, `steps.py` measures acceleration spikes.
"""
