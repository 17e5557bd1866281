"""Widgets of a Python program on the page: gizmos, controls, marks."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from poise.errors import InputError
from poise.maths.arrays import Floats, finite, frozen
from poise.maths.rotations import normalised
from poise.viewer.document.document import Document, Gizmo

Change: TypeAlias = Callable[[Document], Document]


class Handle:
    """A draggable gizmo with position and rotation, made by `View.handle`.

    Its arrays are read-only copies; read the property again for the current value.
    """

    def __init__(self, name: str, at: ArrayLike, rotation: ArrayLike, call: Callable[[Change], None]) -> None:
        self.name = name
        self._call = call
        self._lock = threading.Lock()
        self._moved = False
        self._pending = 0  # local changes not yet applied; messages of the page are older than these
        self._put(_place(at), _turn(rotation))

    @property
    def position(self) -> Floats:
        """(3,) the current position [file units, world]. Set it to move the gizmo."""
        return self._position

    @position.setter
    def position(self, at: ArrayLike) -> None:
        self._put(_place(at), self._rotation)

    @property
    def rotation(self) -> Floats:
        """(4,) the current rotation w x y z. Set it to rotate the gizmo."""
        return self._rotation

    @rotation.setter
    def rotation(self, turn: ArrayLike) -> None:
        self._put(self._position, _turn(turn))

    @property
    def moved(self) -> bool:
        """Whether the page has moved it since the last query."""
        with self._lock:
            moved, self._moved = self._moved, False
        return moved

    @property
    def placed(self) -> Gizmo:
        """Return the gizmo as stored in a document."""
        with self._lock:
            x, y, z = self._position.tolist()
            return Gizmo(self.name, (x, y, z), tuple(self._rotation.tolist()))

    def __repr__(self) -> str:
        return f"Handle({self.name!r}, at {np.array2string(self._position, precision=4)})"

    def follow(self, placed: Gizmo) -> None:
        """Take over the page's values unless a local change is pending."""
        with self._lock:
            position, rotation = _place(placed.position), _turn(placed.rotation)
            same = np.array_equal(position, self._position) and np.array_equal(rotation, self._rotation)
            if self._pending or same:
                return
            self._position, self._rotation, self._moved = position, rotation, True

    def _put(self, position: Floats, rotation: Floats) -> None:
        with self._lock:
            self._position, self._rotation = position, rotation
            self._pending += 1
        self._call(self._changed)

    def _changed(self, document: Document) -> Document:
        """Return the document with the current state of this handle. It runs on the session's thread."""
        with self._lock:
            self._pending -= 1
        placed, others = self.placed, document.handles
        if any(one.name == self.name for one in others):
            return document.but(handles=tuple(placed if one.name == self.name else one for one in others))
        return document.but(handles=(*others, placed))


def _place(at: ArrayLike) -> Floats:
    values = finite(at, "the position of a handle", last=3).copy()
    if values.shape != (3,):
        raise InputError(f"the position of a handle has three numbers, not the shape {values.shape}")
    frozen(values)
    return values


def _turn(rotation: ArrayLike) -> Floats:
    values = finite(rotation, "the rotation of a handle", last=4)
    if values.shape != (4,) or not np.any(values):
        raise InputError("the rotation of a handle is a quaternion w x y z of nonzero length")
    turn = normalised(values)
    frozen(turn)
    return turn
