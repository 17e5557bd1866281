"""SRDF: MoveIt's joint groups, named states and disabled collision pairs. The file is beside the URDF of the robot.

    robot.urdf  robot.srdf      groups of serial joints become chains, group states named poses

End effectors, passive joints, virtual joints and collision spheres are ignored.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from pathlib import Path
from typing import NoReturn

from poise.errors import UnknownNameError
from poise.io.files import read_bytes
from poise.io.numbers import number, shown
from poise.io.values.rows import joint_numbers, moving_rows
from poise.io.xml_files import Element, read_tree
from poise.maths.arrays import Floats
from poise.model.joints import Kind
from poise.model.pose import Pose
from poise.model.rig import Rig
from poise.model.skeleton import Skeleton

_DEEPEST, _MOST = 20, 200_000  # maximum depth, and maximum number of elements
_AGREES = 1e-6  # [rad, m] maximum error of a mimic joint's value in a state


def with_srdf(rig: Rig, path: Path) -> Rig:
    """Apply an SRDF file to a rig. FileError for a broken file, or one of another robot."""
    root = read_tree(path, read_bytes(path), deepest=_DEEPEST, most=_MOST)
    if root.tag != "robot":
        root.fail(f"not an SRDF file: its root element is <{shown(root.tag)[1:-1]}>, not <robot>")
    words = _Words(rig, root)
    chains, poses, pairs = words.chains(), words.poses(), words.pairs()
    skeleton = dataclasses.replace(rig.skeleton, chains=dict(rig.skeleton.chains) | chains)
    rig = rig.with_skeleton(skeleton)
    notes = tuple(f"{path.name}: {note}" for note in words.notes)
    poses = {name: pose.on(skeleton) for name, pose in poses.items()}
    return dataclasses.replace(
        rig, poses=rig.poses | poses, disabled_pairs=(*rig.disabled_pairs, *pairs), notes=rig.notes + notes
    )


class _Words:
    """Reader of an SRDF file's elements for a robot."""

    def __init__(self, rig: Rig, root: Element) -> None:
        self.rig = rig
        self.skeleton: Skeleton = rig.skeleton
        self.root = root
        self.notes: list[str] = []
        self.groups = self._named("group")
        self.virtual = self._named("virtual_joint")

    def _named(self, tag: str) -> dict[str, Element]:
        """Index the elements of a tag below <robot> by name."""
        found: dict[str, Element] = {}
        for element in self._all(tag):
            name = _given(element, "name")
            if name in found:
                element.fail(f"a second {tag} is called {shown(name)}")
            found[name] = element
        return found

    def _all(self, tag: str) -> list[Element]:
        return [element for element in self.root.children if element.tag == tag]

    def _row(self, element: Element, attribute: str = "name", kind: str = "link") -> int:
        """Find the row of the link or joint in an attribute."""
        name, skeleton = _given(element, attribute), self.skeleton
        if name not in skeleton:
            _unknown(element, kind, name, [*skeleton.names, *skeleton.aliases])
        return skeleton.aliases.get(name, skeleton.index(name)) if kind == "link" else skeleton.index(name)

    # --- groups ----------------------------------------------------------------------------------

    def chains(self) -> dict[str, tuple[str, str]]:
        """Read the groups of serial joints as (root, tip). Other groups get a note."""
        found: dict[str, tuple[str, str]] = {}
        for name, element in self.groups.items():
            rows = self._rows_of(element, name)
            line = self._line(rows)
            if line is None:
                self.notes.append(f"group {name!r} is not one serial chain of moving joints, and makes no chain")
            else:
                found[name] = line
        return found

    def _rows_of(self, group: Element, name: str) -> set[int]:
        """Collect the rows of a group and its subgroups."""
        rows, seen, waiting = set[int](), {name}, list(group.children)
        while waiting:
            element = waiting.pop()
            if element.tag == "chain":
                rows.update(self._between(element))
            elif element.tag in ("link", "joint"):
                rows.add(self._row(element, kind=element.tag))
            elif element.tag == "group":
                inner = _given(element, "name")
                if inner not in self.groups:
                    _unknown(element, "group", inner, list(self.groups))
                if inner == name:
                    element.fail(f"group {shown(name)} contains itself")
                if inner not in seen:
                    seen.add(inner)
                    waiting += self.groups[inner].children
        return rows

    def _between(self, chain: Element) -> list[int]:
        """Find the rows between a chain's base link and tip link. The tip's row is among them."""
        base, tip = self._row(chain, "base_link"), self._row(chain, "tip_link")
        way = self.skeleton.way(tip)
        if base not in way:
            chain.fail(f"the base link {shown(_given(chain, 'base_link'))} is not above the tip link")
        return way[way.index(base) + 1 :]

    def _line(self, rows: set[int]) -> tuple[str, str] | None:
        """Find root and tip of rows on one path.

        None for other rows, and where nothing moves above the last of them.
        """
        if not rows:
            return None
        skeleton = self.skeleton
        tip = max(rows, key=lambda row: len(skeleton.way(row)))
        way = skeleton.way(tip)
        moving = [row for row in way[:-1] if row in rows and skeleton.kinds[row] != Kind.FIXED]
        if not moving or not rows.issubset(way):
            return None
        return skeleton.names[moving[0]], skeleton.names[tip]

    # --- states ----------------------------------------------------------------------------------

    def poses(self) -> dict[str, Pose]:
        """Read the group states as poses; other joints are at rest. A name in two groups becomes `group/name`."""
        states = self._all("group_state")
        counts = Counter(_given(state, "name") for state in states)
        found: dict[str, Pose] = {}
        for state in states:
            name, group = _given(state, "name"), _given(state, "group")
            if group not in self.groups:
                _unknown(state, "group", group, list(self.groups))
            name = name if counts[name] == 1 else f"{group}/{name}"
            if name in found:
                state.fail(f"a second state of group {shown(group)} is called {shown(_given(state, 'name'))}")
            found[name] = Pose(self.skeleton, self._q(state, name))
        return found

    def _q(self, state: Element, name: str) -> Floats:
        """Read q of a state. Values of coupled joints are only compared."""
        skeleton, q, followers = self.skeleton, self.skeleton.rest_q.copy(), dict[int, float]()
        for element in state.children:
            joint = _given(element, "name")
            if element.tag != "joint" or joint in self.virtual:
                continue
            row = self._row(element, kind="joint")
            if skeleton.kinds[row] not in (Kind.HINGE, Kind.SLIDE):
                self.notes.append(f"state {name!r}: joint {joint!r} is no hinge or slide, and its value is not read")
                continue
            try:
                value = number(_given(element, "value").strip())
            except ValueError as error:
                element.fail(f"the value of joint {shown(joint)}: {error}")
            if skeleton.couplings[row]:
                followers[row] = value
            else:
                q[skeleton.q_slice(joint)] = value
        self._compare(name, q, followers)
        return q

    def _compare(self, name: str, q: Floats, followers: dict[int, float]) -> None:
        rows = [row for row, size in moving_rows(self.skeleton) for _ in range(size)]
        value_of = dict(zip(rows, joint_numbers(self.skeleton, q).tolist(), strict=True))
        for row, value in followers.items():
            if abs(value_of[row] - value) > _AGREES:
                self.notes.append(
                    f"state {name!r} has another value for {self.skeleton.names[row]!r} than its coupling gives"
                )

    # --- collisions ------------------------------------------------------------------------------

    def pairs(self) -> tuple[tuple[str, str], ...]:
        """Read the disabled pairs of links, each once. A note counts pairs of unknown links."""
        found: dict[frozenset[str], tuple[str, str]] = {}
        lost = 0
        for element in self._all("disable_collisions"):
            pair = _given(element, "link1"), _given(element, "link2")
            if all(link in self.skeleton for link in pair):
                found.setdefault(frozenset(pair), pair)
            else:
                lost += 1
        if lost:
            self.notes.append(f"{lost} disabled pairs name unknown links")
        return tuple(found.values())


def _given(element: Element, attribute: str) -> str:
    value = element.attributes.get(attribute, "")
    if not value:
        element.fail(f"<{element.tag}> has no {attribute}")
    return value


def _unknown(element: Element, kind: str, name: str, known: list[str]) -> NoReturn:
    element.fail(str(UnknownNameError(kind, name, known)))
