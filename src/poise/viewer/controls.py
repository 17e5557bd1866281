"""Sliders, buttons, texts and point marks of a Python program."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from typing import Any, TypeAlias

from numpy.typing import ArrayLike

from poise.errors import InputError
from poise.maths.arrays import finite, real, short
from poise.viewer.document.controls import Cloud, Control, Value
from poise.viewer.document.document import Document

Call: TypeAlias = Callable[[Callable[[Document], Document]], None]

_LONGEST = 400  # characters of a text control
_MOST = 20_000  # points of one set of marks
_COLOUR = re.compile(r"#[\da-fA-F]{6}")


class _Used:
    """A control with its local value and pending changes."""

    def __init__(self, control: Control, call: Call) -> None:
        self.name = control.name
        self._call = call
        self._lock = threading.Lock()
        self._control = control
        self._moved = False
        self._pending = 0  # local changes not yet applied; messages of the page are older than these
        self._put(control)

    def _asked(self) -> bool:
        with self._lock:
            moved, self._moved = self._moved, False
        return moved

    def follow(self, control: Control) -> None:
        """Take over the page's value unless a local change is pending."""
        with self._lock:
            if not self._pending and control != self._control:
                self._control, self._moved = control, True

    def _put(self, control: Control) -> None:
        with self._lock:
            self._control = control
            self._pending += 1
        self._call(self._changed)

    def _changed(self, document: Document) -> Document:
        with self._lock:
            self._pending -= 1
            mine = self._control
        if any(one.name == mine.name for one in document.controls):
            return document.but(controls=tuple(mine if one.name == mine.name else one for one in document.controls))
        return document.but(controls=(*document.controls, mine))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r}, {self._control.value!r})"


class Slider(_Used):
    """A slider on the page, made by `View.slider`.

    Parameters
    ----------
    name
        Its label.
    low, high
        Its ends.
    value
        Its initial value; by default its low end.
    call
        Function for changes of the document; passed by `View`.
    """

    def __init__(self, name: str, low: float, high: float, value: float | None, call: Call) -> None:
        ends = real(low, "low"), real(high, "high")
        if not ends[0] < ends[1]:
            raise InputError(f"a slider goes from a low to a high end; {ends[0]:g} is not below {ends[1]:g}")
        first = ends[0] if value is None else _within(value, *ends)
        super().__init__(Control("slider", name, first, *ends), call)

    @property
    def value(self) -> float:
        """The current value. Set it to move the slider."""
        return float(self._control.value)

    @value.setter
    def value(self, value: float) -> None:
        one = self._control
        self._put(Control("slider", self.name, _within(value, one.low, one.high), one.low, one.high))

    @property
    def moved(self) -> bool:
        """Whether the page has moved it since the last query."""
        return self._asked()


class Button(_Used):
    """A button on the page, made by `View.button`.

    Parameters
    ----------
    name
        Its label.
    call
        Function for changes of the document; passed by `View`.
    """

    def __init__(self, name: str, call: Call) -> None:
        super().__init__(Control("button", name, 0), call)

    @property
    def value(self) -> int:
        """The number of times it was pressed."""
        return int(self._control.value)

    @property
    def pressed(self) -> bool:
        """Whether it was pressed since the last query."""
        return self._asked()


class Text(_Used):
    """A text field on the page, made by `View.text`. The program and the user both write it.

    Parameters
    ----------
    name
        Its label.
    value
        Its initial text.
    call
        Function for changes of the document; passed by `View`.
    """

    def __init__(self, name: str, value: str, call: Call) -> None:
        super().__init__(Control("text", name, _text(value)), call)

    @property
    def value(self) -> str:
        """The current text. Set it to change the text."""
        return str(self._control.value)

    @value.setter
    def value(self, value: str) -> None:
        self._put(Control("text", self.name, _text(value)))

    @property
    def moved(self) -> bool:
        """Whether the user has edited it since the last query."""
        return self._asked()


def marked(name: str, points: ArrayLike, colour: str, size: float) -> Callable[[Document], Document]:
    """Build the change for the points (n, 3) of a name. No points remove the marks."""
    rows = finite(points, "points", last=3).reshape(-1, 3)
    if len(rows) > _MOST:
        raise InputError(
            f"{len(rows):,} points are more than a page shows; give at most {_MOST:,}, for example every tenth"
        )
    if not isinstance(colour, str) or not _COLOUR.fullmatch(colour):
        raise InputError(f"a colour is written '#rrggbb', such as '#ff8800', not {short(colour)}")
    pixels = real(size, "size")
    if not 0.0 < pixels <= 100.0:  # noqa: PLR2004
        raise InputError(f"size is a number of pixels above 0 and at most 100, not {size!r}")
    cloud = Cloud(name, tuple((x, y, z) for x, y, z in rows.tolist()), colour, pixels)

    def change(document: Document) -> Document:
        others = tuple(one for one in document.marks if one.name != name)
        return document.but(marks=(*others, cloud) if cloud.points else others)

    return change


def same_kind(found: Any, kind: type[Any], name: str) -> None:
    """Raise InputError if the existing control has another kind."""
    if not isinstance(found, kind):
        raise InputError(f"{name!r} is a {type(found).__name__.lower()} already; choose another name")


def _within(value: float, low: float, high: float) -> float:
    number = real(value, "the value of a slider")
    if not low <= number <= high:
        raise InputError(f"the value of a slider lies between its ends {low:g} and {high:g}; got {number:g}")
    return number


def _text(value: Value) -> str:
    if not isinstance(value, str) or len(value) > _LONGEST:
        raise InputError(f"a text has at most {_LONGEST} characters; got {short(value)}")
    return value
