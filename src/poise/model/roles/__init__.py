"""The roles of a figure's joints: which one is the left upper leg, and how sure that is."""

from __future__ import annotations

from poise.model.roles.roles import Leg as Leg
from poise.model.roles.roles import Roles as Roles
from poise.model.roles.roles import humanoid as humanoid
