"""Foot targets, and legs to bring ankles to them.

`feet.py` gives an ankle and a rotation for every frame: a foot in contact rotates about its contact point, and its
offset from the source goes from stance to stance (`swing.py`), over what is in its way (`clear.py`). `legs.py` says how
much higher the pelvis goes with the ground and bends legs, `body.py` tilts four-legged characters, and `write_back.py`
converts world rotations into q.
"""
