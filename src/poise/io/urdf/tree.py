"""Link tree of a URDF file and its mimic joints.

Every link but the root has one parent joint; mimic joints lead to a free one.
"""

from __future__ import annotations

import heapq
import math
from pathlib import Path

from poise.errors import FileError, listed
from poise.io.numbers import LARGEST, shown
from poise.io.urdf.document import JointElement, RobotElement
from poise.io.urdf.joints import JointReader, Mimic


def root_link(path: Path, robot: RobotElement) -> str:
    """Find the root link. Any graph other than a tree is refused."""
    if not robot.links:
        raise FileError(path, "the robot has no link")
    parent_of: dict[str, JointElement] = {}
    for joint in robot.joints.values():
        for role, link in (("parent", joint.parent), ("child", joint.child)):
            if not link:
                JointReader(path, joint).fail(f"no {role} link")
            if link not in robot.links:
                JointReader(path, joint).fail(f"unknown {role} link {shown(link)}")
        if joint.child in parent_of:
            first = parent_of[joint.child].name
            JointReader(path, joint).fail(f"link {shown(joint.child)} is already the child of joint {shown(first)}")
        parent_of[joint.child] = joint
    roots = [link for link in robot.links if link not in parent_of]
    if not roots:
        raise FileError(path, "no root: every link is the child of a joint, so the links form a loop")
    if len(roots) > 1:
        raise FileError(path, f"{len(roots)} links have no parent joint and one root is needed: {listed(roots)}")
    return roots[0]


def in_order(path: Path, robot: RobotElement, root: str) -> list[JointElement]:
    """Sort joints with parents first, otherwise in file order.

    The next one is always the first in the file whose parent is there.
    """
    waiting: dict[str, list[tuple[int, JointElement]]] = {}
    for place, joint in enumerate(robot.joints.values()):
        waiting.setdefault(joint.parent, []).append((place, joint))
    ready = [(place, joint.name) for place, joint in waiting.get(root, [])]
    heapq.heapify(ready)
    order: list[JointElement] = []
    while ready:
        joint = robot.joints[heapq.heappop(ready)[1]]
        order.append(joint)
        for place, below in waiting.get(joint.child, []):
            heapq.heappush(ready, (place, below.name))
    if len(order) < len(robot.joints):
        seen = {joint.name for joint in order}
        loop = [name for name in robot.joints if name not in seen]
        raise FileError(path, f"joints form a loop that the root {shown(root)} does not reach: {listed(loop)}")
    return order


def free_leaders(path: Path, robot: RobotElement, mimics: dict[str, Mimic], notes: list[str]) -> dict[str, Mimic]:
    """Resolve mimics of mimics to free leaders. Ratios are multiplied and offsets combined.

    A joint with a missing leader, or one without a single value, moves independently; `notes` gets a sentence.
    """
    mimics = {name: mimic for name, mimic in mimics.items() if _can_follow(robot, name, mimic, notes)}
    done: dict[str, Mimic] = {}
    for name in list(mimics):
        line: dict[str, None] = {}  # a dictionary as an ordered set, because chains of mimics may be long
        at = name
        while at in mimics and at not in done:
            if at in line:
                cycle = [*line, at][[*line].index(at) :]
                JointReader(path, robot.joints[at]).fail(f"mimics in a cycle: {listed(cycle)}")
            line[at] = None
            at = mimics[at].leader
        for follower in reversed(line):
            done[follower] = _composed(path, robot, follower, mimics[follower], done.get(mimics[follower].leader))
    return done


def _can_follow(robot: RobotElement, name: str, mimic: Mimic, notes: list[str]) -> bool:
    """Return whether the mimicked joint exists and has a value."""
    leader = robot.joints.get(mimic.leader)
    if leader is None:
        notes.append(f"<mimic> of {name!r} is ignored: there is no joint {shown(mimic.leader)}")
    elif not leader.has_value:
        notes.append(f"<mimic> of {name!r} is ignored: {shown(leader.name)} is a {leader.type} joint without a value")
    return leader is not None and leader.has_value


def _composed(path: Path, robot: RobotElement, name: str, mimic: Mimic, further: Mimic | None) -> Mimic:
    if further is None:
        return mimic
    ratio, offset = mimic.ratio * further.ratio, mimic.ratio * further.offset + mimic.offset
    if not math.hypot(ratio, offset) <= LARGEST:
        JointReader(path, robot.joints[name]).fail("mimics a mimic with too large a multiplier or offset")
    return Mimic(further.leader, ratio, offset)
