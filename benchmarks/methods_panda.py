"""Every method of Poise that brings an arm to a place, beside the libraries that have one like it: a Panda.

Places of random legal configurations, to a millionth, inside the limits, all from the middle of the joints' ranges.
Times are made as in methods.py. Answers are judged here, by forward kinematics of this script.
"""

from __future__ import annotations

import sys
import xml.etree.ElementTree as ET
from typing import NamedTuple

import harness
import methods
import numpy as np
from methods import Bools, Contest, Floats, Measured
from robots import environments, models
from robots.models import Robot

import poise

TARGETS = 1000
SEED = 20
CLOSE = 1e-6  # m and rad
OUR_SLACK, PEER_SLACK = 1e-9, 1e-6  # rad
LIKE = {
    "ik_NR": ("pseudo_inverse", "damped_least_squares"),
    "ik_GN": ("pseudo_inverse", "damped_least_squares"),
    "ik_LM (Chan)": ("damped_least_squares", "levenberg_marquardt"),
    "ik_LM (Sugihara)": ("damped_least_squares", "levenberg_marquardt"),
    "ikpy": ("damped_least_squares", "levenberg_marquardt", "pseudo_inverse", "selectively_damped"),
}
COMPILED = ("ik_NR", "ik_GN", "ik_LM (Chan)", "ik_LM (Sugihara)")


class Link(NamedTuple):
    """Where a joint is in its parent (4, 4), and its axis (3,), None where it is fixed."""

    place: Floats
    axis: Floats | None


def turned(axis: Floats, angles: Floats) -> Floats:
    """Poses (k, 4, 4) that turn about a unit axis by the angles (k,): Rodrigues' formula."""
    x, y, z = axis
    across = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    poses = np.tile(np.eye(4), (len(angles), 1, 1))
    sines, rest = np.sin(angles)[:, None, None], 1 - np.cos(angles)[:, None, None]
    poses[:, :3, :3] += sines * across + rest * (across @ across)
    return poses


def numbers(element: ET.Element | None, key: str) -> Floats:
    """Three numbers of an attribute, zeros where it is missing."""
    return np.array([float(n) for n in ("0 0 0" if element is None else element.get(key, "0 0 0")).split()])


def links(robot: Robot) -> list[Link]:
    """The chain from base to tip, in the order of the file that models.py cut."""
    found = []
    for joint in ET.parse(robot.urdf).getroot().findall("joint"):  # noqa: S314 - cut by models.py
        origin = joint.find("origin")
        roll, pitch, yaw = (turned(np.eye(3)[i], numbers(origin, "rpy")[i : i + 1])[0] for i in range(3))
        place = yaw @ pitch @ roll
        place[:3, 3] = numbers(origin, "xyz")
        axis = numbers(joint.find("axis"), "xyz")
        found.append(Link(place, None if joint.get("type") == "fixed" else axis / np.linalg.norm(axis)))
    return found


def tips(chain: list[Link], q: Floats) -> Floats:
    """Poses of the tip (k, 4, 4) for configurations (k, n)."""
    poses, at = np.tile(np.eye(4), (len(q), 1, 1)), 0
    for link in chain:
        poses = poses @ link.place
        if link.axis is not None:
            poses, at = poses @ turned(link.axis, q[:, at]), at + 1
    return poses


def solved(robot: Robot, chain: list[Link], q: Floats, targets: Floats, slack: float) -> Bools:
    """Which answers (k, n) are at their targets (k, 4, 4) and inside the limits; those with NaN are not."""
    reached, wanted = tips(chain, q), targets[: len(q)]
    distance = np.linalg.norm(reached[:, :3, 3] - wanted[:, :3, 3], axis=-1)
    turn = np.swapaxes(reached[:, :3, :3], 1, 2) @ wanted[:, :3, :3]
    odd = turn - np.swapaxes(turn, 1, 2)
    sine = 0.5 * np.linalg.norm(np.stack([odd[:, 2, 1], odd[:, 0, 2], odd[:, 1, 0]], axis=1), axis=1)
    angle = np.arctan2(sine, 0.5 * (np.trace(turn, axis1=1, axis2=2) - 1.0))
    inside = ((q >= robot.lower - slack) & (q <= robot.upper + slack)).all(axis=1)
    return (distance <= CLOSE * (1 + 1e-6)) & (angle <= CLOSE * (1 + 1e-6)) & inside


def panda() -> Robot:
    """The arm, cut out of the test data. Raises FileNotFoundError where that is not here."""
    data = harness.data_folder()
    if data is None:
        message = "the URDF is not here: set POISE_DATA"
        raise FileNotFoundError(message)
    folder = models.store() / "urdf"
    models.cut(data / "urdf" / "panda.urdf", "panda", "panda_link0", "panda_link8", folder)
    return models.read("panda", folder)


def contest(robot: Robot, chain: list[Link]) -> Contest:
    """From the middle, the tip to places."""
    return Contest(
        start=poise.Pose(poise.load(robot.urdf).skeleton, robot.mid),
        goal=lambda targets: poise.Place(robot.tip, targets[..., :3, 3], targets[..., :3, :3]),
        solved=lambda q, targets: solved(robot, chain, q, targets, OUR_SLACK),
        tolerances={"tolerance": CLOSE, "angle_tolerance": CLOSE},
    )


def peer_row(peer: str, robot: Robot, chain: list[Link], targets: Floats) -> Measured:
    """A library in its own environment; RuntimeError with a sentence where it cannot be run."""
    environment = "roboticstoolbox_python" if peer in COMPILED else "ikpy"
    command = [environments.python(environment), harness.HERE / "peers" / "arms.py"]
    task = {"peer": peer, "robot": robot.name, "folder": str(models.store() / "urdf"), "tolerance": CLOSE,
            "start": robot.mid.tolist(), "targets": targets.tolist(), "seconds": methods.SECONDS}  # fmt: skip
    answer = methods.answer_of(peer, command, task)
    q = np.array([[np.nan] * len(robot.joints) if row is None else row for row in answer["q"]], dtype=np.float64)
    time_of_one = float(np.mean(answer["microseconds"]))
    return Measured(peer, solved(robot, chain, q, targets, PEER_SLACK), float("nan"), time_of_one)


def main(limit: int | None = None, *, with_peers: bool = True) -> int:
    """Run everything and write the table."""
    try:
        robot = panda()
    except OSError as error:
        return harness.exit_code(f"methods_panda: skipped, {error}")
    chain = links(robot)
    rng = np.random.default_rng(SEED)
    count = limit or TARGETS
    targets = tips(chain, rng.uniform(robot.lower, robot.upper, size=(count, len(robot.joints))))
    ours = methods.poise_rows(contest(robot, chain), targets)
    notes: list[str] = []
    runs = [lambda peer=peer: peer_row(peer, robot, chain, targets) for peer in LIKE] if with_peers else []
    rows = methods.lines("Panda", ours, methods.run_all(runs, notes), LIKE)
    notes.append(
        f"{count} places (fewer for what is slow) of random legal configurations, to {CLOSE:g} m and rad with all "
        "limits kept, from the middle of every range. Times are means of all targets, also of those that are missed "
        "(our single calls: medians), processor time of all threads; the last column is per target solved, the peer's "
        f"call against our batch. A peer stops after {methods.SECONDS:g} s. ik_NR, ik_GN (with pinv) and ik_LM are the "
        "compiled solvers of roboticstoolbox with its own 100 restarts; ikpy is SciPy's least squares."
    )
    harness.report("methods_panda", "A Panda to places, beside libraries that have the method", rows, notes)
    return 0


if __name__ == "__main__":
    sys.exit(main())
