"""Roles of joints, such as left upper leg, with confidences.

A rig goes in, `Roles` come out: declared roles of the file and its sidecar, then `roles_by_name`, then `limb_structure`
and `leg_roles`. `gaze_direction` and `default_limbs` use the result.
"""

from __future__ import annotations

from poise.model.roles.roles import Leg as Leg
from poise.model.roles.roles import Roles as Roles
from poise.model.roles.roles import search_roles as search_roles
