"""HTML of values for notebooks: a picture and a table each.

`values.py` formats rigs, poses, clips and results, `reports.py` reports of planting and comparisons. `pictures.py`
draws poses and error curves, `cards.py` lays pictures and tables out. The `_repr_html_` of the classes calls
`format_html` through `calls/late_binding.py`.

The HTML has no script, loads nothing, and is at most some 100 kB: of large rigs and batches the first rows are shown,
and the number of the others is said.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from poise.comparison.results import ComparisonData
from poise.ground.plant import Planted
from poise.ground.report.report import Report
from poise.model.clip import Clip
from poise.model.pose import Pose
from poise.model.rig import Rig
from poise.notebook.reports import format_comparison, format_report
from poise.notebook.values import format_clip, format_pose, format_result, format_rig
from poise.solving.result import Result


def format_html(value: Any) -> str | None:
    """Format a value as HTML for a notebook cell. None where this fails: the cell then shows its `repr`.

    Parameters
    ----------
    value
        A Rig, Pose, Clip, Planted, Result, Report or Comparison.
    """
    try:
        return next((format_card(value) for kind, format_card in _FORMATTERS if isinstance(value, kind)), None)
    except Exception:  # noqa: BLE001  (a value that is shown must not stop a notebook)
        return None


_FORMATTERS: tuple[tuple[type[Any], Callable[[Any], str]], ...] = (
    (Rig, format_rig),
    (Pose, format_pose),
    (Planted, lambda planted: format_report(planted.report)),
    (Clip, format_clip),  # after Planted, which is a Clip
    (Result, format_result),
    (Report, format_report),
    (ComparisonData, format_comparison),
)
