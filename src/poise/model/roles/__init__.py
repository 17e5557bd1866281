"""Roles of joints, such as left upper leg, with confidences.

A joint tree goes in, `JointRoles` come out: declared roles of the file and its sidecar, then `roles_by_name`, then
`limb_structure` and `leg_roles`. `gaze_direction` uses the result. The package knows no skeletons, poses or rigs:
`Skeleton.index` finds joints by role with it, and `model/rig_roles.py` searches rigs.
"""

from __future__ import annotations

from poise.model.roles.role_search import JointRoles as JointRoles
from poise.model.roles.role_search import Leg as Leg
