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
from poise.io.joint_value_columns import compute_joint_numbers, list_movable_joints
from poise.io.text_parsing import Element, parse_number, quote_excerpt, read_xml_tree
from poise.maths.arrays import Floats
from poise.model.joints import Kind
from poise.model.pose import Pose
from poise.model.rig import Rig
from poise.model.skeleton import Skeleton

_MAX_DEPTH, _MAX_ELEMENTS = 20, 200_000  # maximum depth, and maximum number of elements
_MAX_MIMIC_ERROR = 1e-6  # [rad, m] maximum error of a mimic joint's value in a state


def apply_srdf(rig: Rig, path: Path) -> Rig:
    """Apply an SRDF file to a rig. FileError for a broken file, or one of another robot."""
    root = read_xml_tree(path, read_bytes(path), max_depth=_MAX_DEPTH, max_elements=_MAX_ELEMENTS)
    if root.tag != "robot":
        root.fail(f"not an SRDF file: its root element is <{quote_excerpt(root.tag)[1:-1]}>, not <robot>")
    reader = _SrdfReader(rig, root)
    chains, poses, pairs = reader.read_chains(), reader.read_poses(), reader.read_pairs()
    skeleton = dataclasses.replace(rig.skeleton, chains=dict(rig.skeleton.chains) | chains)
    rig = rig.with_skeleton(skeleton)
    notes = tuple(f"{path.name}: {note}" for note in reader.notes)
    poses = {name: pose.on(skeleton) for name, pose in poses.items()}
    return dataclasses.replace(
        rig, poses=rig.poses | poses, disabled_pairs=(*rig.disabled_pairs, *pairs), notes=rig.notes + notes
    )


class _SrdfReader:
    """Reader of an SRDF file's elements for a robot."""

    def __init__(self, rig: Rig, root: Element) -> None:
        self.rig = rig
        self.skeleton: Skeleton = rig.skeleton
        self.root = root
        self.notes: list[str] = []
        self.group_by_name = self._index_elements("group")
        self.virtual_joints = self._index_elements("virtual_joint")

    def _index_elements(self, tag: str) -> dict[str, Element]:
        """Index the elements of a tag below <robot> by name."""
        elements: dict[str, Element] = {}
        for element in self._find_elements(tag):
            name = _read_attribute(element, "name")
            if name in elements:
                element.fail(f"a second {tag} is called {quote_excerpt(name)}")
            elements[name] = element
        return elements

    def _find_elements(self, tag: str) -> list[Element]:
        return [element for element in self.root.children if element.tag == tag]

    def _find_row(self, element: Element, attribute: str = "name", kind: str = "link") -> int:
        """Find the row of the link or joint in an attribute."""
        name, skeleton = _read_attribute(element, attribute), self.skeleton
        if name not in skeleton:
            _report_unknown(element, kind, name, [*skeleton.names, *skeleton.aliases])
        return skeleton.aliases.get(name, skeleton.index(name)) if kind == "link" else skeleton.index(name)

    # --- groups ----------------------------------------------------------------------------------

    def read_chains(self) -> dict[str, tuple[str, str]]:
        """Read the groups of serial joints as (root, tip). Other groups get a note."""
        chains: dict[str, tuple[str, str]] = {}
        for name, element in self.group_by_name.items():
            rows = self._collect_rows(element, name)
            ends = self._find_chain_ends(rows)
            if ends is None:
                self.notes.append(f"group {name!r} is not one serial chain of moving joints, and makes no chain")
            else:
                chains[name] = ends
        return chains

    def _collect_rows(self, group: Element, name: str) -> set[int]:
        """Collect the rows of a group and its subgroups."""
        rows, visited, pending_elements = set[int](), {name}, list(group.children)
        while pending_elements:
            element = pending_elements.pop()
            if element.tag == "chain":
                rows.update(self._find_chain_rows(element))
            elif element.tag in ("link", "joint"):
                rows.add(self._find_row(element, kind=element.tag))
            elif element.tag == "group":
                subgroup = _read_attribute(element, "name")
                if subgroup not in self.group_by_name:
                    _report_unknown(element, "group", subgroup, list(self.group_by_name))
                if subgroup == name:
                    element.fail(f"group {quote_excerpt(name)} contains itself")
                if subgroup not in visited:
                    visited.add(subgroup)
                    pending_elements += self.group_by_name[subgroup].children
        return rows

    def _find_chain_rows(self, chain: Element) -> list[int]:
        """Find the rows between a chain's base link and tip link. The tip's row is among them."""
        base, tip = self._find_row(chain, "base_link"), self._find_row(chain, "tip_link")
        path = self.skeleton.list_path(tip)
        if base not in path:
            chain.fail(f"the base link {quote_excerpt(_read_attribute(chain, 'base_link'))} is not above the tip link")
        return path[path.index(base) + 1 :]

    def _find_chain_ends(self, rows: set[int]) -> tuple[str, str] | None:
        """Find root and tip of rows on one path.

        None for other rows, and where nothing moves above the last of them.
        """
        if not rows:
            return None
        skeleton = self.skeleton
        tip = max(rows, key=lambda row: len(skeleton.list_path(row)))
        path = skeleton.list_path(tip)
        moving_rows = [row for row in path[:-1] if row in rows and skeleton.kinds[row] != Kind.FIXED]
        if not moving_rows or not rows.issubset(path):
            return None
        return skeleton.names[moving_rows[0]], skeleton.names[tip]

    # --- states ----------------------------------------------------------------------------------

    def read_poses(self) -> dict[str, Pose]:
        """Read the group states as poses; other joints are at rest. A name in two groups becomes `group/name`."""
        states = self._find_elements("group_state")
        counts = Counter(_read_attribute(state, "name") for state in states)
        poses: dict[str, Pose] = {}
        for state in states:
            name, group = _read_attribute(state, "name"), _read_attribute(state, "group")
            if group not in self.group_by_name:
                _report_unknown(state, "group", group, list(self.group_by_name))
            name = name if counts[name] == 1 else f"{group}/{name}"
            if name in poses:
                state.fail(
                    f"a second state of group {quote_excerpt(group)} is called "
                    f"{quote_excerpt(_read_attribute(state, 'name'))}"
                )
            poses[name] = Pose(self.skeleton, self._read_state(state, name))
        return poses

    def _read_state(self, state: Element, name: str) -> Floats:
        """Read q of a state. Values of coupled joints are only compared."""
        skeleton, q, follower_values = self.skeleton, self.skeleton.rest_q.copy(), dict[int, float]()
        for element in state.children:
            joint = _read_attribute(element, "name")
            if element.tag != "joint" or joint in self.virtual_joints:
                continue
            row = self._find_row(element, kind="joint")
            if skeleton.kinds[row] not in (Kind.HINGE, Kind.SLIDE):
                self.notes.append(f"state {name!r}: joint {joint!r} is no hinge or slide, and its value is not read")
                continue
            try:
                value = parse_number(_read_attribute(element, "value").strip())
            except ValueError as error:
                element.fail(f"the value of joint {quote_excerpt(joint)}: {error}")
            if skeleton.couplings[row]:
                follower_values[row] = value
            else:
                q[skeleton.q_slice(joint)] = value
        self._check_followers(name, q, follower_values)
        return q

    def _check_followers(self, name: str, q: Floats, follower_values: dict[int, float]) -> None:
        rows = [row for row, size in list_movable_joints(self.skeleton) for _ in range(size)]
        value_by_row = dict(zip(rows, compute_joint_numbers(self.skeleton, q).tolist(), strict=True))
        for row, value in follower_values.items():
            if abs(value_by_row[row] - value) > _MAX_MIMIC_ERROR:
                self.notes.append(
                    f"state {name!r} has another value for {self.skeleton.names[row]!r} than its coupling gives"
                )

    # --- collisions ------------------------------------------------------------------------------

    def read_pairs(self) -> tuple[tuple[str, str], ...]:
        """Read the disabled pairs of links, each once. A note counts pairs of unknown links."""
        pairs: dict[frozenset[str], tuple[str, str]] = {}
        unknown_count = 0
        for element in self._find_elements("disable_collisions"):
            pair = _read_attribute(element, "link1"), _read_attribute(element, "link2")
            if all(link in self.skeleton for link in pair):
                pairs.setdefault(frozenset(pair), pair)
            else:
                unknown_count += 1
        if unknown_count:
            self.notes.append(f"{unknown_count} disabled pairs name unknown links")
        return tuple(pairs.values())


def _read_attribute(element: Element, attribute: str) -> str:
    value = element.attributes.get(attribute, "")
    if not value:
        element.fail(f"<{element.tag}> has no {attribute}")
    return value


def _report_unknown(element: Element, kind: str, name: str, known_names: list[str]) -> NoReturn:
    element.fail(str(UnknownNameError(kind, name, known_names)))
