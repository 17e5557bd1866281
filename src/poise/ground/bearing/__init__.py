"""Ground contact of hands, elbows, knees and hips.

`parts.py` detects these contacts. `lying.py` tilts a prone body with the ground and sets its height. `limbs.py` moves
the character so that knees and elbows stay at their contacts, and solves shins and arms for them.
"""
