"""Describe the methods, the measurement and the repeating call. This is the end of the page."""

from __future__ import annotations

from html import escape

from poise import solvers
from poise.comparison.findings.findings import Findings
from poise.comparison.findings.measured import Measured
from poise.comparison.report.words import RANKS, effort_name, seed_of
from poise.problem.goals import Orientation, Position

_MEASURED = (
    (
        "All methods get the same targets in the same order. Errors are measured by forward kinematics of the pose of "
        "each answer; claims of a method about its own answer are only shown next to them."
    ),
    (
        "Times are those of the user's call, after a warm-up, on one core. All methods take part in each round, so "
        "that a disturbance of the machine affects all of them; numbers are medians over the rounds."
    ),
    f"{RANKS} Shares have Wilson's interval, times that of a median between order statistics, 10 % either way or more.",
    (
        "Other libraries are set up once and called in their own frame and units; the conversion between them and this "
        "rig is not timed."
    ),
)


def methods(findings: Findings) -> str:
    """List the methods with non-default options. Other libraries are listed separately."""
    own = [_item(method) for method in findings.methods if method.family != "peer"]
    beside = [_item(method) for method in findings.methods if method.family == "peer"]
    parts = [f"<ul>{''.join(own)}</ul>"] if own else []
    parts += [f"<h3>Other libraries and their settings</h3><ul>{''.join(beside)}</ul>"] if beside else []
    return "".join(parts)


def _item(method: Measured) -> str:
    options = ", ".join(f"{name}={value}" for name, value in method.options.items())
    given = f" Options: <code>{escape(options)}</code>." if options else ""
    return f"<li><b>{escape(method.name)}</b>: {escape(method.text)}{given}</li>"


def measured(findings: Findings) -> str:
    """Describe the methodology and the sets of targets."""
    sets = "".join(
        f"<li><b>{escape(one.name)}</b> ({len(one):,} targets): {escape(one.text)}</li>"
        for one in findings.task.sets.values()
    )
    facts = "".join(f"<li>{escape(fact)}</li>" for fact in _MEASURED)
    return f"<ul>{facts}</ul><h3>Sets of targets</h3><ul>{sets}</ul>"


def again(findings: Findings) -> str:
    """Format the code for repeating the comparison."""
    task, goal = findings.task, findings.task.goal
    parts = ["(0, 0, 0)"] * (not isinstance(goal, Orientation)) + ["(1, 0, 0, 0)"] * (not isinstance(goal, Position))
    target = ", ".join(parts)
    extra = "" if goal.root is None else f", root={goal.root!r}"
    offset = getattr(goal, "offset", (0.0, 0.0, 0.0))
    extra += f", offset={tuple(map(float, offset))}" if any(offset) else ""
    name = effort_name(findings)
    effort = f'effort="{name}", ' if " " not in name else ""
    given = dict.fromkeys(method.name.partition("(")[0] for method in findings.methods if method.family != "peer")
    own = [name for name in given if name in solvers.names()]
    chosen = "" if set(own) == set(solvers.names()) else f", solvers={own}"
    chosen += ', targets="path"' if task.main.name == "path" else ""
    tolerances = f"tolerance={task.tolerance.distance:.6g}, angle_tolerance={task.tolerance.angle:.6g}"
    lines = [
        f"rig = poise.load({task.name or 'FILE'!r})",
        f"goal = poise.{type(goal).__name__}({goal.joint!r}, {target}{extra})",
        f"found = poise.compare(rig.rest, goal{chosen},",
        f"                      {tolerances}, {effort}seed={seed_of(findings)})",
        'found.save("report.html")',
    ]
    words = (
        "The same seed gives the same targets; times depend on the machine, ranks hardly. Add options, limits, a start "
        "other than rest, a clip for the path, other libraries and given targets in the same way."
    )
    return f"<pre>{escape(chr(10).join(lines))}</pre><p class='muted'>{words}</p>"
