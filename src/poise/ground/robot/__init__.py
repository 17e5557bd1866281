"""Robots on the ground, solved over a whole clip.

`tree.py` has the unknowns of a frame: hinges and slides on a free base. `sole.py` finds soles by collision shapes,
`foot_path.py` where soles stand, roll and swing. `clip_solve.py` takes Gauss-Newton steps for all frames at once,
within limits and speeds. `planting.py` states the task of a clip, `sole_notes.py` and
`stance_notes.py` what was not held.
"""
