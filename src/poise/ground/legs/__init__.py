"""From planted feet to a pose: swing, pelvis, heels, legs, toes.

`feet.py` gives an ankle and a rotation for every frame: a foot in contact rotates about its contact point, and its
offset from the source fades after the contact (`swing.py`). `reach.py` solves the pose: `pelvis.py` follows the ground
and sinks as far as the legs need, `heels.py` lifts heels first, `legs.py` bends the legs, `toes.py` comes last.
`release.py` shortens stances that a leg cannot hold, `clear.py` and `risers.py` move swinging feet over edges, and
`fold.py` lowers swinging feet that were lifted too high. `calm.py` bends knees around acceleration spikes, `keep.py`
blends legs back to their source, `body.py` tilts four-legged characters, and `write_back.py` converts world rotations
into q.
"""
