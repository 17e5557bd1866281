"""Random trees in the arrays of kernels/problem_arrays.py, and what a slow loop over rotations says of them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.spatial.transform import Rotation

FIXED, HINGE, SLIDE, BALL, MOVE = range(5)
POSITION, ROTATION, DIRECTION, AIM, POLE = range(5)
NUMBERS = {FIXED: 0, HINGE: 1, SLIDE: 1, BALL: 4, MOVE: 3}
DOFS = {FIXED: 0, HINGE: 1, SLIDE: 1, BALL: 3, MOVE: 3}
WANTED = {POSITION: 3, ROTATION: 4, DIRECTION: 3, AIM: 3, POLE: 3}
FADES = 1e-3


def turn(wxyz):
    return Rotation.from_quat(np.asarray(wxyz), scalar_first=True)


@lru_cache(maxsize=10_000)
def still(w, x, y, z):
    """The rotation of a frame that stays: made once, asked for at every pose."""
    return turn((w, x, y, z))


def wxyz(rotation):
    return rotation.as_quat(scalar_first=True)


@dataclass
class KernelTree:
    nodes: np.ndarray
    frames: np.ndarray
    dofs: np.ndarray
    terms: np.ndarray
    effectors: np.ndarray
    paths: np.ndarray
    row_ranges: np.ndarray
    nu: int
    width: int

    def place(self, u, k=0):
        """Position and rotation of each moved frame, and the rotation of each node's frame before its motion."""
        placed = []
        for i, (parent, motion, at, _) in enumerate(self.nodes.tolist()):
            frame = self.frames[min(k, len(self.frames) - 1), i]
            at_, before, _ = placed[parent] if parent >= 0 else (np.zeros(3), Rotation.identity(), None)
            at_, before = at_ + before.apply(frame[:3]), before * still(*frame[3:7])
            value, after = frame[7] * u[at] + frame[8] if motion in (HINGE, SLIDE) else 0.0, before
            if motion == HINGE:
                after = before * Rotation.from_rotvec([0, 0, value])
            elif motion == SLIDE:
                at_ = at_ + before.apply([0, 0, value])
            elif motion == BALL:
                after = before * turn(u[at : at + 4])
            elif motion == MOVE:
                at_ = at_ + before.apply(u[at : at + 3])
            placed.append((at_, after, before))
        return placed

    def measure(self, u, k=0):
        """What each term measures: a point, a rotation, a direction; a ray or a limb as a tuple of vectors."""
        placed, out = self.place(u, k), []
        for (kind, node, _, _, _, _, first, middle, *_), aim in zip(self.terms.tolist(), self.effectors, strict=True):
            at, rotation, _ = placed[node]
            if kind == AIM:
                out.append((at + rotation.apply(aim[:3]), rotation.apply(aim[3:6])))
                continue
            if kind == POLE:
                others = [placed[i][0] + placed[i][1].apply(aim[c : c + 3]) for i, c in ((first, 12), (middle, 9))]
                out.append((*others, at + rotation.apply(aim[:3])))
                continue
            if kind == POSITION:
                out.append(at + rotation.apply(aim[:3]))
            elif kind == ROTATION:
                out.append(rotation * still(*aim[3:7]))
            else:
                out.append(rotation.apply(aim[:3]))
        return out

    def targets_at(self, us):
        """Targets (k, width) that the configurations (k, nu) meet."""
        return np.array([np.concatenate([met_by(m) for m in self.measure(u, k)]) for k, u in enumerate(us)])

    def left(self, u, target, k=0):
        """(3 t,) the residual without weights."""
        out = []
        for (kind, _, _, first, *_), now in zip(self.terms.tolist(), self.measure(u, k), strict=True):
            wanted = target[first : first + WANTED[kind]]
            if kind == POSITION:
                out.append(wanted - now)
                continue
            if kind == POLE:
                out.append([2 * np.sin(pole_angle(*now, wanted) / 2) * pole_fade(*now, wanted), 0, 0])
                continue
            if kind == ROTATION:
                vector = (turn(wanted) * now.inv()).as_rotvec()
            else:
                vector = shortest(now[1], unit(wanted - now[0])) if kind == AIM else shortest(now, wanted)
            angle = np.linalg.norm(vector)
            out.append(vector * np.sinc(angle / (2 * np.pi)))  # 2 sin(angle / 2) / angle
        return np.concatenate(out)

    def weights(self):
        return np.repeat(self.effectors[:, 7], 3)

    def moved(self, u, step):
        """The configuration after a step (nd,), balls by the exponential."""
        u = u.copy()
        for d, (_, _, number, _) in enumerate(self.dofs):
            if number >= 0:
                u[int(number)] += step[d]
        for _, motion, at, dof in self.nodes.tolist():
            if motion == BALL:
                u[at : at + 4] = wxyz(Rotation.from_rotvec(step[dof : dof + 3]) * turn(u[at : at + 4]))
            elif motion == MOVE:
                u[at : at + 3] += step[dof : dof + 3]
        return u

    def jacobian(self, u, target, k=0, h=1e-4):
        """(3 t, nd) by central differences of fourth order, without weights: see `rates`."""
        return (4 * self.rates(u, target, k, h) - self.rates(u, target, k, 2 * h)) / 3

    def rates(self, u, target, k, h):
        """(3 t, nd) by central differences of step h: rates of points, turns, and turns of directions.

        Of an aim, the turn of its axis less that of the way to the target; of a pole, less the angle left, faded.
        """
        columns, here = [], self.measure(u, k)
        for step in np.eye(len(self.dofs)) * h:
            ahead, behind = self.measure(self.moved(u, step), k), self.measure(self.moved(u, -step), k)
            rows = []
            for term, a, b, now in zip(self.terms, ahead, behind, here, strict=True):
                kind, wanted = term[0], target[term[3] : term[3] + WANTED[term[0]]]
                if kind == AIM:
                    ways = [unit(wanted - p) for p, _ in (a, b, now)]
                    rows.append(np.cross(now[1], a[1] - b[1]) - np.cross(ways[2], ways[0] - ways[1]))
                elif kind == POLE:
                    gained = pole_angle(*b, wanted) - pole_angle(*a, wanted)
                    rows.append(np.array([(gained + np.pi) % (2 * np.pi) - np.pi, 0, 0]) * pole_fade(*now, wanted))
                elif kind == ROTATION:
                    rows.append((a * b.inv()).as_rotvec())
                else:
                    rows.append(a - b if kind == POSITION else np.cross(now, a - b))
            columns.append(np.concatenate(rows) / (2 * h))
        return np.array(columns).T


def shortest(a, b):
    """Rotation vector of the shortest turn from unit vector a to b, not opposite."""
    axis = np.cross(a, b)
    length = np.linalg.norm(axis)
    return axis * (np.arctan2(length, a @ b) / length if length > 0 else 0.0)


def met_by(measured):
    """Numbers of a target that what was measured meets: for a ray a point on it, for a limb its bending joint."""
    if isinstance(measured, tuple):
        return measured[0] + 1.3 * measured[1] if len(measured) == 2 else measured[1]
    return wxyz(measured) if isinstance(measured, Rotation) else measured


def unit(v):
    return v / np.linalg.norm(v)


def across(first, tip, point):
    n = unit(tip - first)
    return point - first - n * (n @ (point - first))


def pole_angle(first, middle, tip, wanted):
    """The angle about the line from first to tip, by bringing that line to z."""
    turned = Rotation.align_vectors([[0, 0, 1]], [unit(tip - first)])[0]
    (kx, ky, _), (px, py, _) = turned.apply([middle - first, wanted - first])
    return (np.arctan2(py, px) - np.arctan2(ky, kx) + np.pi) % (2 * np.pi) - np.pi


def pole_fade(first, middle, tip, wanted):
    limb = np.linalg.norm(middle - first) + np.linalg.norm(tip - middle)
    ways = across(first, tip, middle), across(first, tip, wanted), tip - first
    return np.prod([min(np.linalg.norm(way) / (FADES * limb), 1.0) for way in ways])


def random_turns(rng, *shape):
    q = rng.normal(size=(*shape, 4))
    return q / np.linalg.norm(q, axis=-1, keepdims=True)


def random_tree(
    rng, n=10, terms=4, *, kinds=(FIXED, HINGE, SLIDE, BALL, MOVE), couple=True, k=1, tolerance=1e-7, measured=5
):
    """A tree of n random nodes, some coupled, with random terms of the first `measured` kinds; weights 0.5 to 2."""
    nodes, at, dof = [], 0, 0
    for i in range(n):
        parent = int(rng.integers(-1, i)) if i and rng.random() < 0.3 else i - 1
        motion = int(rng.choice(kinds))
        ones = [row for row in nodes if row[1] in (HINGE, SLIDE)]
        if couple and motion in (HINGE, SLIDE) and ones and rng.random() < 0.4:
            nodes.append((parent, motion, *ones[rng.integers(len(ones))][2:]))
            continue
        nodes.append((parent, motion, at, dof))
        at, dof = at + NUMBERS[motion], dof + DOFS[motion]
    frames = np.concatenate([rng.normal(size=(k, n, 3)) * 0.4, random_turns(rng, k, n), np.zeros((k, n, 2))], axis=2)
    frames[..., 7], frames[..., 8] = rng.uniform(0.5, 1.5, size=(k, n)), rng.uniform(-1, 1, size=(k, n))
    dofs = np.tile([-np.inf, np.inf, -1.0, 1.0], (dof, 1))
    for _, motion, first, d in nodes:
        if motion in (HINGE, SLIDE):
            dofs[d, 2] = first
    return with_terms(rng, np.array(nodes), frames, dofs, at, terms, tolerance, measured)


PLAIN_TARGET = (-1, 0, 0, 0, -1)  # columns of a term without reference and set


def with_terms(rng, nodes, frames, dofs, nu, count, tolerance, measured):
    order = depth_first(nodes[:, 0].tolist())
    chosen = sorted(rng.integers(len(nodes), size=count).tolist(), key=order.index)
    chosen[-1:] = order[-1:] if count else []
    rows, paths, width = [], [], 0
    effectors = np.zeros((count, 15))
    ranges = np.tile([3 * count, 0], (len(dofs), 1))
    for t, node in enumerate(chosen):
        kind = int(rng.integers(measured))
        axis = rng.normal(size=3)
        effectors[t, :3] = axis / np.linalg.norm(axis) if kind == DIRECTION else axis * 0.3
        effectors[t, 3:7], effectors[t, 7], effectors[t, 8] = random_turns(rng), rng.uniform(0.5, 2), tolerance**2
        way, every, limb = moving_way(nodes, node), way_to(nodes, node), (0, 0)
        if kind == AIM:
            effectors[t, 3:7] = *unit(rng.normal(size=3)), 0.0
        elif kind == POLE:
            effectors[t, 9:] = rng.normal(size=6) * 0.3
            limb = tuple(every[i] for i in sorted(rng.integers(len(every), size=2).tolist()))
        ends = [len(paths) + len(moving_way(nodes, i)) for i in limb]
        for i in way:
            d = slice(nodes[i, 3], nodes[i, 3] + DOFS[nodes[i, 1]])
            ranges[d] = np.stack([np.minimum(ranges[d, 0], 3 * t), np.maximum(ranges[d, 1], 3 * t + 3)], axis=1)
        rows.append((kind, node, 3 * t, width, len(paths), len(paths) + len(way), *limb, *ends, *PLAIN_TARGET))
        paths, width = paths + way, width + WANTED[kind]
    ranges[:, 0] = np.minimum(ranges[:, 0], ranges[:, 1])
    terms = np.array(rows, dtype=np.int64).reshape(-1, 10 + len(PLAIN_TARGET))
    return KernelTree(nodes, frames, dofs, terms, effectors, np.array(paths, dtype=np.int64), ranges, nu, width)


def way_to(nodes, node):
    way = []
    while node >= 0:
        way, node = [node, *way], nodes[node, 0]
    return way


def moving_way(nodes, node):
    return [i for i in way_to(nodes, node) if nodes[i, 1] != FIXED]


def depth_first(parents):
    order, stack = [], [i for i, p in enumerate(parents) if p < 0][::-1]
    while stack:
        i = stack.pop()
        order.append(i)
        stack.extend(j for j in reversed(range(len(parents))) if parents[j] == i)
    return order


def random_u(rng, tree, k, size=1.0):
    """Configurations (k, nu): numbers up to `size`, balls turned by about as much."""
    u = rng.uniform(-size, size, size=(k, tree.nu))
    for _, motion, at, _ in tree.nodes.tolist():
        if motion == BALL:
            u[:, at : at + 4] = wxyz(Rotation.from_rotvec(rng.uniform(-size, size, size=(k, 3))))
    return u
