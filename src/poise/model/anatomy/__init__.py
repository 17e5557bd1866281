"""Human anatomy of a rig with known roles.

`joint_axes` finds the anatomical axes of joints, `joint_limits` turns published ranges of motion into limits,
`rest_geometry` measures the rest pose, and `humanoid` is the public entry.
"""
