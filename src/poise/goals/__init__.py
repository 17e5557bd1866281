"""Goals: what is wanted of a pose. Values; a new target is a new goal. `_goal.py` has what all offer.

The folder is the registry: one file per goal, whose class is named like the file (look_at.py has LookAt). Files whose
names begin with an underscore are shared parts.
"""

import importlib
import pkgutil
from typing import TypeAlias

from poise.goals._goal import AnyGoal as AnyGoal
from poise.goals._goal import JointGoal as JointGoal
from poise.goals._targets import FARTHEST as FARTHEST
from poise.goals.aim import Aim as Aim
from poise.goals.direction import Direction as Direction
from poise.goals.look_at import LookAt as LookAt
from poise.goals.near import Near as Near
from poise.goals.orientation import Orientation as Orientation
from poise.goals.pin import Pin as Pin
from poise.goals.place import Place as Place
from poise.goals.pole import Pole as Pole
from poise.goals.position import Position as Position

Goal: TypeAlias = JointGoal | Near


def _class_in(file: str) -> type[Goal]:
    """The goal that a file of this folder holds."""
    module = importlib.import_module(f"{__name__}.{file}")
    return getattr(module, file.title().replace("_", ""))


GOALS = tuple(_class_in(file.name) for file in pkgutil.iter_modules(__path__) if not file.name.startswith("_"))
NAMES = tuple(goal.__name__ for goal in GOALS)
