"""Goals: what is wanted of a pose. Values, one file each; a new target is a new goal. `goal.py` has what all offer."""

from typing import TypeAlias

from poise.goals.aim import Aim as Aim
from poise.goals.direction import Direction as Direction
from poise.goals.goal import AnyGoal as AnyGoal
from poise.goals.goal import JointGoal as JointGoal
from poise.goals.look_at import LookAt as LookAt
from poise.goals.near import Near as Near
from poise.goals.orientation import Orientation as Orientation
from poise.goals.pin import Pin as Pin
from poise.goals.place import Place as Place
from poise.goals.pole import Pole as Pole
from poise.goals.position import Position as Position
from poise.goals.targets import FARTHEST as FARTHEST

Goal: TypeAlias = Position | Orientation | Place | Direction | Aim | LookAt | Pole | Near | Pin
