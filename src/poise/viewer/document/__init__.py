"""Document of the viewer as frozen values, and the actions on it.

`document.py` has the document with its chains and solvers, `timeline.py` clips and keys, `terrain.py` the ground,
`actions.py` and `settings_actions.py` the changes.
"""
