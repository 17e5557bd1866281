"""ssik: closed forms for six and seven joints, as shipped for known arms or generated from the URDF."""

from __future__ import annotations

import importlib
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar

from robots import models
from robots.models import Floats, Robot
from robots.peers import Peer, UnsupportedRobotError

SHIPPED = {
    "panda": "ssik.prebuilt.franka.panda_ik",
    "ur5": "ssik.prebuilt.universal_robots.ur5_ik",
    "iiwa14": "ssik.prebuilt.kuka.iiwa14_ik",
}
PATIENCE = 240  # s for a build


class Seeded(Peer):
    """The answer nearest the start, limits kept."""

    options: ClassVar[dict[str, Any]] = {"max_solutions": 1}
    seeded = True

    def load(self, robot: Robot, tolerance: float, q: Floats, poses: Floats) -> None:
        """Import the generated module."""
        self.arm = self.module(robot)

    def module(self, robot: Robot) -> ModuleType:
        """The module that the package ships for this arm."""
        if robot.name not in SHIPPED:
            message = "no module for this arm is shipped"
            raise UnsupportedRobotError(message)
        return importlib.import_module(SHIPPED[robot.name])

    def solve(self, target: Floats, start: Floats) -> Floats | None:
        """Take its answers."""
        seed = {"q_seed": start} if self.seeded else {}
        answers = self.arm.solve(target, **seed, **self.options)
        return answers[0].q if answers else None


class First(Seeded):
    """Any one answer, limits kept."""

    seeded = False


class Built(Seeded):
    """The module that `ssik build` writes for the URDF; nearest the start."""

    def module(self, robot: Robot) -> ModuleType:
        """Build it on first use, outside the measured time."""
        path = models.store() / "ssik" / f"{robot.name}_ik.py"
        refused = path.with_suffix(".txt")
        if not path.is_file() and not refused.is_file():
            path.parent.mkdir(exist_ok=True)
            refusal = build(robot, path)
            if refusal:
                refused.write_text(refusal, encoding="utf-8")
        if refused.is_file():
            raise UnsupportedRobotError(refused.read_text(encoding="utf-8"))
        sys.path.insert(0, str(path.parent))
        return importlib.import_module(path.stem)


def build(robot: Robot, path: Path) -> str:
    """Run the package's command line tool; the sentence why it writes nothing, or nothing."""
    tool = Path(sys.executable).with_name("ssik")
    command = [str(tool), "build", robot.urdf, "--base", robot.base, "--ee", robot.tip, "--out", str(path)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
    except subprocess.TimeoutExpired:
        return f"`ssik build` was stopped after {PATIENCE} s"
    if done.returncode == 0 and path.is_file():
        return ""
    last = (done.stderr or done.stdout).strip().splitlines()[-1:]
    return f"`ssik build` refuses this chain: {' '.join(last)}"
