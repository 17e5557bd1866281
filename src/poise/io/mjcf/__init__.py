"""MJCF reader.

`elements` expands includes and strips assets, `compile` lets MuJoCo resolve the model, `skeleton` builds joints,
limits, couplings, loops and poses, `document` keeps shapes and masses.
"""
