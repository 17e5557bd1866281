"""Document of the viewer as frozen values, and the actions on it.

`document.py` has the document with its chains, solvers, clips and keys, `terrain.py` the ground, `actions.py` the
changes.
"""
