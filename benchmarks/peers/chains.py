"""Bring a chain of equal bones, straight along +Y, to points with another library; runs in that library's environment.

Input (stdin): {peer, bones, length, tolerance, targets: [[x, y, z], ...], seconds}. Output (stdout): {joints: the
positions [[x, y, z] per joint, base to tip] per target solved, microseconds: [...]}. It stops when `seconds` are over.
"""

from __future__ import annotations

import json
import logging
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

Solve = Callable[[list[float]], Any]
Place = Callable[[Any], list[list[float]]]


def fabrik(task: dict[str, Any]) -> tuple[Solve, Place]:
    """pyfabrik: FABRIK on points, without a cap of iterations. It divides by zero on a straight line: bent a little."""
    import pyfabrik  # noqa: PLC0415
    from vectormath import Vector3  # noqa: PLC0415

    bones, length = task["bones"], task["length"]
    straight = [[1e-3 * length * (i % 2), i * length, 0.0] for i in range(bones + 1)]

    def solve(target: list[float]) -> Any:
        chain = pyfabrik.Fabrik3D([Vector3(*point) for point in straight], task["tolerance"])
        chain.move_to(Vector3(*target))
        return chain

    return solve, lambda chain: [list(map(float, joint)) for joint in chain.joints]


def tinyik(task: dict[str, Any], *, ccd: bool = False) -> tuple[Solve, Place]:
    """tinyik: three hinges a bone; SciPy's BFGS with derivatives by autograd, or its own CCD (at most 100 sweeps)."""
    import tinyik as library  # noqa: PLC0415

    bones, length = task["bones"], task["length"]
    tokens = [token for _ in range(bones) for token in ("x", "y", "z", [0.0, length, 0.0])]
    arm = library.Actuator(tokens)
    sweeps = library.CCDIKSolver(library.CCDFKSolver(arm.components), tol=0.1 * task["tolerance"], maxiter=100)
    nearly = np.full(3 * bones, 0.02)  # straight is a stationary point

    def solve(target: list[float]) -> Any:
        if ccd:
            return sweeps.solve(nearly.copy(), np.array(target))
        arm.angles = nearly
        arm.ee = target
        return np.array(arm.angles)

    def place(angles: Any) -> list[list[float]]:
        points = [[0.0, 0.0, 0.0]]
        for bone in range(bones):
            part = library.Actuator(tokens[: 4 * (bone + 1)])
            part.angles = angles[: 3 * (bone + 1)]
            points.append(part.ee.tolist())
        return points

    return solve, place


def ikpy(task: dict[str, Any]) -> tuple[Solve, Place]:
    """ikpy: three hinges a bone, SciPy's least squares on finite differences."""
    from ikpy.chain import Chain  # noqa: PLC0415
    from ikpy.link import OriginLink, URDFLink  # noqa: PLC0415

    logging.disable(logging.CRITICAL)
    bones, length = task["bones"], task["length"]
    links = [OriginLink()]
    for bone in range(bones):
        for axis in range(3):
            offset = [0.0, length if bone and axis == 0 else 0.0, 0.0]
            turn = np.eye(3)[axis].tolist()
            links.append(URDFLink(f"{bone}{axis}", offset, [0.0, 0.0, 0.0], rotation=turn, bounds=(-np.pi, np.pi)))
    links.append(URDFLink("tip", [0.0, length, 0.0], [0.0, 0.0, 0.0], joint_type="fixed"))
    chain = Chain(links, active_links_mask=[False, *[True] * (3 * bones), False])
    nearly = np.array([0.0, *[0.02] * (3 * bones), 0.0])

    def place(angles: Any) -> list[list[float]]:
        frames = chain.forward_kinematics(angles, full_kinematics=True)
        return [frame[:3, 3].tolist() for frame in [*frames[1:-1:3], frames[-1]]]

    return lambda target: chain.inverse_kinematics(target, initial_position=nearly), place


PEERS: dict[str, Callable[[dict[str, Any]], tuple[Solve, Place]]] = {
    "pyfabrik": fabrik,
    "tinyik": tinyik,
    "tinyik CCD": partial(tinyik, ccd=True),
    "ikpy": ikpy,
}


def main() -> None:
    """Solve what the time allows, each target from the straight chain."""
    task = json.load(sys.stdin)
    solve, place = PEERS[task["peer"]](task)
    solve(task["targets"][0])  # what is loaded or compiled late
    joints: list[list[list[float]]] = []
    microseconds: list[float] = []
    end = time.perf_counter() + task["seconds"]
    for target in task["targets"]:
        began = time.process_time()
        answer = solve(target)
        microseconds.append((time.process_time() - began) * 1e6)
        joints.append(place(answer))
        if time.perf_counter() > end:
            break
    json.dump({"joints": joints, "microseconds": microseconds}, sys.stdout)


main()
