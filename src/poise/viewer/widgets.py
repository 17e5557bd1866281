"""Widgets of a Python program on the page: handles, controls, marks."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from poise.errors import InputError
from poise.maths.arrays import Floats, abbreviate, check_finite, check_real, freeze_array
from poise.maths.rotations import normalise
from poise.viewer.document.document import Document
from poise.viewer.document.program_widgets import Control, ControlValue, HandleState, PointCloud

DocumentChange: TypeAlias = Callable[[Document], Document]
PostChange: TypeAlias = Callable[[DocumentChange], None]


class Handle:
    """A draggable handle with position and rotation, made by `View.handle`.

    Its arrays are read-only copies; read the property again for the current value.
    """

    def __init__(self, name: str, at: ArrayLike, rotation: ArrayLike, post_change: PostChange) -> None:
        self.name = name
        self._post_change = post_change
        self._lock = threading.Lock()
        self._was_moved = False
        self._pending_changes = 0  # local changes not yet applied; messages of the page are older than these
        self._set(_check_position(at), _check_rotation(rotation))

    @property
    def position(self) -> Floats:
        """(3,) the current position [file units, world]. Set it to move the handle."""
        return self._position

    @position.setter
    def position(self, position: ArrayLike) -> None:
        self._set(_check_position(position), self._rotation)

    @property
    def rotation(self) -> Floats:
        """(4,) the current rotation w x y z. Set it to rotate the handle."""
        return self._rotation

    @rotation.setter
    def rotation(self, rotation: ArrayLike) -> None:
        self._set(self._position, _check_rotation(rotation))

    @property
    def moved(self) -> bool:
        """Whether the page has moved it since the last query."""
        with self._lock:
            was_moved, self._was_moved = self._was_moved, False
        return was_moved

    @property
    def state(self) -> HandleState:
        """Return the state as stored in a document."""
        with self._lock:
            x, y, z = self._position.tolist()
            return HandleState(self.name, (x, y, z), tuple(self._rotation.tolist()))

    def __repr__(self) -> str:
        return f"Handle({self.name!r}, at {np.array2string(self._position, precision=4)})"

    def update_from_page(self, state: HandleState) -> None:
        """Take over the page's values unless a local change is pending."""
        with self._lock:
            position, rotation = _check_position(state.position), _check_rotation(state.rotation)
            is_same = np.array_equal(position, self._position) and np.array_equal(rotation, self._rotation)
            if self._pending_changes or is_same:
                return
            self._position, self._rotation, self._was_moved = position, rotation, True

    def _set(self, position: Floats, rotation: Floats) -> None:
        with self._lock:
            self._position, self._rotation = position, rotation
            self._pending_changes += 1
        self._post_change(self._apply_to_document)

    def _apply_to_document(self, document: Document) -> Document:
        """Return the document with the current state of this handle. It runs on the session's thread."""
        with self._lock:
            self._pending_changes -= 1
        state, states = self.state, document.handles
        if any(existing.name == self.name for existing in states):
            return document.replace(
                handles=tuple(state if existing.name == self.name else existing for existing in states)
            )
        return document.replace(handles=(*states, state))


def _check_position(position: ArrayLike) -> Floats:
    checked_position = check_finite(position, "the position of a handle", last_axis_length=3).copy()
    if checked_position.shape != (3,):
        raise InputError(f"the position of a handle has three numbers, not the shape {checked_position.shape}")
    freeze_array(checked_position)
    return checked_position


def _check_rotation(rotation: ArrayLike) -> Floats:
    values = check_finite(rotation, "the rotation of a handle", last_axis_length=4)
    if values.shape != (4,) or not np.any(values):
        raise InputError("the rotation of a handle is a quaternion w x y z of nonzero length")
    quaternion = normalise(values)
    freeze_array(quaternion)
    return quaternion


# --- Sliders, buttons, texts and point marks of a Python program -----------------------------------------------------


_MAX_TEXT_LENGTH = 400  # characters of a text control
_MAX_MARK_POINTS = 20_000  # points of one set of marks
_COLOUR = re.compile(r"#[\da-fA-F]{6}")


class _PageControl:
    """A control with its local value and pending changes."""

    def __init__(self, control: Control, post_change: PostChange) -> None:
        self.name: str = control.name
        self._post_change = post_change
        self._lock = threading.Lock()
        self._control = control
        self._was_moved = False
        self._pending_changes = 0  # local changes not yet applied; messages of the page are older than these
        self._set(control)

    def _take_moved(self) -> bool:
        with self._lock:
            was_moved, self._was_moved = self._was_moved, False
        return was_moved

    def update_from_page(self, control: Control) -> None:
        """Take over the page's value unless a local change is pending."""
        with self._lock:
            if not self._pending_changes and control != self._control:
                self._control, self._was_moved = control, True

    def _set(self, control: Control) -> None:
        with self._lock:
            self._control = control
            self._pending_changes += 1
        self._post_change(self._apply_to_document)

    def _apply_to_document(self, document: Document) -> Document:
        with self._lock:
            self._pending_changes -= 1
            current = self._control
        if any(existing.name == current.name for existing in document.controls):
            return document.replace(
                controls=tuple(current if existing.name == current.name else existing for existing in document.controls)
            )
        return document.replace(controls=(*document.controls, current))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r}, {self._control.value!r})"


class Slider(_PageControl):
    """A slider on the page, made by `View.slider`.

    Parameters
    ----------
    name
        Its label.
    low, high
        Its ends.
    value
        Its initial value; by default its low end.
    post_change
        Function that queues a change of the document; passed by `View`.
    """

    def __init__(self, name: str, low: float, high: float, value: float | None, post_change: PostChange) -> None:
        ends = check_real(low, "low"), check_real(high, "high")
        if not ends[0] < ends[1]:
            raise InputError(f"a slider goes from a low to a high end; {ends[0]:g} is not below {ends[1]:g}")
        initial_value = ends[0] if value is None else _check_slider_value(value, *ends)
        super().__init__(Control("slider", name, initial_value, *ends), post_change)

    @property
    def value(self) -> float:
        """The current value. Set it to move the slider."""
        return float(self._control.value)

    @value.setter
    def value(self, value: float) -> None:
        control = self._control
        self._set(
            Control(
                "slider", self.name, _check_slider_value(value, control.low, control.high), control.low, control.high
            )
        )

    @property
    def moved(self) -> bool:
        """Whether the page has moved it since the last query."""
        return self._take_moved()


class Button(_PageControl):
    """A button on the page, made by `View.button`.

    Parameters
    ----------
    name
        Its label.
    post_change
        Function that queues a change of the document; passed by `View`.
    """

    def __init__(self, name: str, post_change: PostChange) -> None:
        super().__init__(Control("button", name, 0), post_change)

    @property
    def value(self) -> int:
        """The number of times it was pressed."""
        return int(self._control.value)

    @property
    def pressed(self) -> bool:
        """Whether it was pressed since the last query."""
        return self._take_moved()


class Text(_PageControl):
    """A text field on the page, made by `View.text`. The program and the user both write it.

    Parameters
    ----------
    name
        Its label.
    value
        Its initial text.
    post_change
        Function that queues a change of the document; passed by `View`.
    """

    def __init__(self, name: str, value: str, post_change: PostChange) -> None:
        super().__init__(Control("text", name, _check_text(value)), post_change)

    @property
    def value(self) -> str:
        """The current text. Set it to change the text."""
        return str(self._control.value)

    @value.setter
    def value(self, value: str) -> None:
        self._set(Control("text", self.name, _check_text(value)))

    @property
    def moved(self) -> bool:
        """Whether the user has edited it since the last query."""
        return self._take_moved()


def build_marks_change(name: str, points: ArrayLike, colour: str, size: float) -> DocumentChange:
    """Build the change for the points (n, 3) of a name. No points remove the marks."""
    positions = check_finite(points, "points", last_axis_length=3).reshape(-1, 3)
    if len(positions) > _MAX_MARK_POINTS:
        raise InputError(
            f"{len(positions):,} points are more than a page shows; give at most {_MAX_MARK_POINTS:,}, "
            "for example every tenth"
        )
    if not isinstance(colour, str) or not _COLOUR.fullmatch(colour):
        raise InputError(f"a colour is written '#rrggbb', such as '#ff8800', not {abbreviate(colour)}")
    size_px = check_real(size, "size")
    if not 0.0 < size_px <= 100.0:  # noqa: PLR2004
        raise InputError(f"size is a number of pixels above 0 and at most 100, not {size!r}")
    point_cloud = PointCloud(name, tuple((x, y, z) for x, y, z in positions.tolist()), colour, size_px)

    def change(document: Document) -> Document:
        other_clouds = tuple(existing for existing in document.marks if existing.name != name)
        return document.replace(marks=(*other_clouds, point_cloud) if point_cloud.points else other_clouds)

    return change


def check_control_kind(existing: Any, control_class: type[Any], name: str) -> None:
    """Raise InputError if the existing control has another kind."""
    if not isinstance(existing, control_class):
        raise InputError(f"{name!r} is a {type(existing).__name__.lower()} already; choose another name")


def _check_slider_value(value: float, low: float, high: float) -> float:
    number = check_real(value, "the value of a slider")
    if not low <= number <= high:
        raise InputError(f"the value of a slider lies between its ends {low:g} and {high:g}; got {number:g}")
    return number


def _check_text(value: ControlValue) -> str:
    if not isinstance(value, str) or len(value) > _MAX_TEXT_LENGTH:
        raise InputError(f"a text has at most {_MAX_TEXT_LENGTH} characters; got {abbreviate(value)}")
    return value
