"""Joint limits as values, applied by `kernels/limits.py` for every solver.

A limit is relative to the rest rotation of a ball joint, whose quaternion in q is the identity there; for a hinge or a
slide it bounds q itself, so its zero is the zero pose of the file. Precedence: Python argument, sidecar, glTF extras,
the file.

A limit is hard (`soft=0`): no result is ever outside. With `soft` > 0 it is a penalty: it costs soft * excess^2, has a
lower priority than all goals, and is reported as `Result.cost`.

The folder is the registry: one file per limit, whose class is named like the file (swing_twist.py has SwingTwist).
Their shared checks are in `model/limit_checks.py`; `model/limit_bounds.py` applies the same rules in NumPy, because
reading a file must not wait for a compiler.
"""

import importlib
import pkgutil
from typing import TypeAlias

from poise.model.limit_checks import AxisTuple as AxisTuple
from poise.model.limit_checks import unit_axis as unit_axis
from poise.model.limits.euler_box import EulerBox as EulerBox
from poise.model.limits.range import Range as Range
from poise.model.limits.swing_twist import SwingTwist as SwingTwist

Limit: TypeAlias = Range | SwingTwist | EulerBox


def _load_limit_class(file_name: str) -> type[Limit]:
    """Load the limit class of a file in this folder."""
    module = importlib.import_module(f"{__name__}.{file_name}")
    return getattr(module, file_name.title().replace("_", ""))


LIMIT_CLASSES = tuple(_load_limit_class(file.name) for file in pkgutil.iter_modules(__path__) if not file.ispkg)
LIMIT_NAMES = tuple(limit.__name__ for limit in LIMIT_CLASSES)


def find_hinge_axis(limit: Limit | None) -> AxisTuple | None:
    """Return the axis of a range on a ball joint, else None. Such a range makes the ball joint a hinge."""
    return limit.axis if isinstance(limit, Range) else None


def is_soft(limit: Limit | None) -> bool:
    """Return whether a limit is soft."""
    return limit is not None and limit.soft > 0.0
