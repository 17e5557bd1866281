"""Human anatomy of a rig with known roles.

`rest_geometry` measures the rest pose and finds the anatomical axes of joints, `joint_limits` turns published ranges of
motion into limits, and `roles` has the public class.
"""
