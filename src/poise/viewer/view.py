"""Drive the viewer from Python scripts and notebooks: `poise.view()`.

    with poise.view(rig) as view:
        ball = view.handle("target", at=[0.3, 1.2, 0.4])
        for frame in view.frames(fps=60):
            view.pose = tracker(ball.position, dt=frame.dt).pose

Server and session have their own threads; everything here may be called from any thread.
"""

from __future__ import annotations

import atexit
import threading
from collections.abc import Callable, Iterator, Sequence
from time import perf_counter
from types import TracebackType
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, NoReturn, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from poise.calls.old_names import accept_old_keywords, make_property_alias
from poise.errors import InputError, UnsupportedError
from poise.maths.arrays import abbreviate, check_finite, check_real
from poise.model.clip import Clip
from poise.model.pose import Pose, check_same_skeleton
from poise.model.rig import Rig
from poise.problem.goals import Goal
from poise.viewer.document.document import Document, build_document
from poise.viewer.document.goal_chains import build_goal_chains
from poise.viewer.session.session_thread import SessionThread
from poise.viewer.widgets import Button, Handle, Slider, Text, build_marks_change, check_control_kind

if TYPE_CHECKING:
    from poise.viewer.server import Server

Positions: TypeAlias = tuple[tuple[float, float, float], ...]

_SPACING_IN_WIDTHS = 1.1  # distance of characters side by side, in widths of one character
_MAX_NAME_LENGTH = 400  # characters of a handle's name
_CELL_STYLE = "height:560px;border:0"  # of the page in a notebook cell
_POLL_INTERVAL_S = 0.2  # [s] between two checks for the page


class Frame(NamedTuple):
    """One iteration of the loop over `View.frames`.

    Parameters
    ----------
    number
        Its number, from 0.
    time
        Seconds since the first frame.
    dt
        Seconds since the last frame.
    """

    number: int
    time: float
    dt: float


@accept_old_keywords(thing="content")
def view(
    content: Rig | Pose | Clip,
    *,
    goals: Goal | Sequence[Goal] | None = None,
    host: str = "127.0.0.1",
    port: int = 0,
    open_browser: bool = True,
) -> View:
    """Show a rig, a pose or a clip in the browser. Drive it from Python with the returned viewer.

    Parameters
    ----------
    content
        The content: a rig in its pose, a pose, or a clip for playing.
    goals
        Goals to show and drag in place of the chains of the file: Position, Place, LookAt and Pin, with their
        `relative_to`, `follow` and `within`. None: the chains of the file.
    host
        The address to listen at. The default is reachable from this machine only; with any other host everyone with the
        link can use the viewer.
    port
        The port; 0: a free one.
    open_browser
        Whether the page is opened. Its address is printed in any case.

    Returns
    -------
    View
        A viewer. It starts with `with`, with `open()` or, in a notebook, when it is displayed.

    Raises
    ------
    InputError
        For anything but a rig, a pose or a clip.
    FileError, InputError
        Where the port is in use.
    UnsupportedError
        Without the extra: pip install 'poise[view]'. For other goals.
    """
    return View(_build_document(content, goals), host=host, port=port, open_browser=open_browser)


class _Running(NamedTuple):
    """Session and server of an opened viewer."""

    session: SessionThread
    server: Server


class View:
    """A viewer, made by `poise.view`. It is a context manager: the server runs until the block ends."""

    def __init__(
        self, document: Document, *, host: str = "127.0.0.1", port: int = 0, open_browser: bool = True
    ) -> None:
        self._initial_document, self._host, self._port = document, host, port
        self._opens_browser = open_browser
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._session: SessionThread | None = None
        self._server: Server | None = None
        self._handles: dict[str, Handle] = {}
        self._controls: dict[str, Slider | Button | Text] = {}
        self._shown_pose: Pose | None = None  # the last pose set by the Python program
        self._page_left = threading.Event()  # set when the page has left for good

    # --- from the start to the end ---------------------------------------------------------------------------------

    def open(self) -> Self:
        """Start the server, print the address, and open the browser.

        `with` does the same; `open_browser=False` only prints the address.
        """
        self._start()
        url = self.url
        print(f"poise view: {url}", flush=True)  # noqa: T201  (scripts print the address)
        if self._opens_browser:
            import webbrowser  # noqa: PLC0415  (keeps `import poise` fast)

            webbrowser.open(url)
        return self

    def close(self) -> None:
        """Stop the server and notify the page. A closed viewer stays closed."""
        self._ended.set()
        with self._lock:
            server, self._server = self._server, None
        if server is not None:
            atexit.unregister(server.close)
            server.close()

    def __enter__(self) -> Self:
        return self.open()

    def __exit__(
        self, error_type: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __reduce__(self) -> NoReturn:
        raise UnsupportedError(
            "a View is a window to a running server and cannot be copied or pickled; open another one"
        )

    def __repr__(self) -> str:
        state = "closed" if self._ended.is_set() else "not open" if self._server is None else f"port {self.port}"
        return f"View({self.document.name!r}, {state})"

    def _start(self) -> _Running:
        """Return session and server, started if necessary. Raise InputError when the viewer is closed."""
        with self._lock:
            if self._ended.is_set():
                raise InputError("this viewer is closed; make another one with poise.view()")
            if self._session is None or self._server is None:
                self._session, self._server = self._build_server()
            return _Running(self._session, self._server)

    def _build_server(self) -> tuple[SessionThread, Server]:
        from poise.viewer.server import Server  # noqa: PLC0415  (needs the extra `view`)

        session = SessionThread(self._initial_document)
        session.listeners.append(self._update_from_page)
        server = Server(session, host=self._host, port=self._port, farewell="The script has ended")
        server.on_page_left(self._page_left.set)
        server.on_link_request(lambda: print(f"poise view: a new link was requested: {server.url}", flush=True))  # noqa: T201
        server.start()
        atexit.register(server.close)  # tells the page when a script ends without closing it
        return session, server

    # --- content ---------------------------------------------------------------------------------------------------

    @property
    def url(self) -> str:
        """The address of the page, for one browser. After its use there is a new one."""
        return self._start().server.url

    @property
    def port(self) -> int:
        """The port of the server."""
        return self._start().server.port

    @property
    def connected(self) -> bool:
        """Whether a page is open."""
        return self._server is not None and self._server.is_connected

    @property
    def document(self) -> Document:
        """The current document of the page: an immutable value."""
        return self._initial_document if self._session is None else self._session.document

    @property
    def pose(self) -> Pose:
        """The displayed pose. Set it to show another one on the same skeleton; a batch stands side by side."""
        if self._shown_pose is not None:
            return self._shown_pose
        document = self.document
        pose = document.solver_start if self._session is None else self._session.pose_state.build_view_pose(0)
        return pose.on(document.skeleton)

    @pose.setter
    def pose(self, pose: Pose) -> None:
        skeleton, session = self._initial_document.skeleton, self._start().session
        if not isinstance(pose, Pose) or len(pose.shape) > 1:
            raise InputError(
                f"view.pose is a pose of the displayed skeleton, {len(skeleton)} joints, or a row of such poses"
            )
        check_same_skeleton(skeleton, pose.skeleton, "the value of view.pose")
        shape, self._shown_pose = None if self._shown_pose is None else self._shown_pose.shape, pose
        if shape != pose.shape or session.document.rig is not self._initial_document.rig:
            positions = _arrange_side_by_side(self._initial_document, pose)
            session.post_change(lambda document: _build_driven_document(self._find_own_document(document), positions))
        session.post_pose(pose)

    def _find_own_document(self, document: Document) -> Document:
        """Return the current document if it shows the rig of this viewer.

        Where the page has gone to a scene, return the initial one with its handles.
        """
        if document.rig is self._initial_document.rig:
            return document
        own_document = self._initial_document.replace(handles=tuple(handle.state for handle in self._handles.values()))
        return own_document.with_program_controls(document)

    # --- handles -----------------------------------------------------------------------------------------------------

    def handle(self, name: str, at: ArrayLike = (0.0, 0.0, 0.0), rotation: ArrayLike = (1.0, 0.0, 0.0, 0.0)) -> Handle:
        """Put a draggable handle into the scene.

        Parameters
        ----------
        name
            Its label. The same name again returns the same handle, moved.
        at
            (3,) its position [file units, world].
        rotation
            (4,) its rotation, a quaternion w x y z.
        """
        _check_name(name, "handle")
        session = self._start().session
        if name in self._handles:
            handle = self._handles[name]
            handle.position, handle.rotation = (
                check_finite(at, "at", last_axis_length=3),
                check_finite(rotation, "rotation", last_axis_length=4),
            )
            return handle
        handle = self._handles[name] = Handle(name, at, rotation, session.post_change)
        return handle

    # --- controls ----------------------------------------------------------------------------------------------------

    def slider(self, name: str, low: float, high: float, value: float | None = None) -> Slider:
        """Put a slider on the page. It replaces a slider with the same name.

        Parameters
        ----------
        name
            Its label.
        low, high
            Its ends.
        value
            Its initial value; default: `low`.
        """
        return self._add_control(name, Slider, lambda post_change: Slider(name, low, high, value, post_change))

    def button(self, name: str) -> Button:
        """Put a button on the page. The same name again is the same button.

        Parameters
        ----------
        name
            Its label.
        """
        existing = self._controls.get(name) if isinstance(name, str) else None
        return (
            existing
            if isinstance(existing, Button)
            else self._add_control(name, Button, lambda post_change: Button(name, post_change))
        )

    def text(self, name: str, value: str = "") -> Text:
        """Put a text field on the page, editable on both sides. It replaces a text with the same name.

        Parameters
        ----------
        name
            Its label.
        value
            Its initial text, at most 400 characters.
        """
        return self._add_control(name, Text, lambda post_change: Text(name, value, post_change))

    def _add_control(self, name: str, control_class: type[Any], build_control: Callable[[Any], Any]) -> Any:
        _check_name(name, control_class.__name__.lower())
        if name in self._controls:
            check_control_kind(self._controls[name], control_class, name)
        control = self._controls[name] = build_control(self._start().session.post_change)
        return control

    def marks(self, points: ArrayLike, *, name: str = "marks", colour: str = "#ffd166", size: float = 8.0) -> None:
        """Mark points in the scene. They replace earlier marks with the same name.

        Parameters
        ----------
        points
            (n, 3) [file units, world]; (0, 3) to mark none.
        name
            Several sets of marks have several names.
        colour
            "#rrggbb".
        size
            Their size in pixels.
        """
        _check_name(name, "set of marks")
        self._start().session.post_change(build_marks_change(name, points, colour, size))

    def _update_from_page(self, document: Document) -> None:
        """Update handles and controls from the changed document.

        It runs on the session's thread.
        """
        for control in document.controls:
            if control.name in self._controls:
                self._controls[control.name].update_from_page(control)
        for state in document.handles:
            handle = self._handles.get(state.name)
            if handle is not None:
                handle.update_from_page(state)

    # --- loops -------------------------------------------------------------------------------------------------------

    def frames(self, fps: float = 60.0) -> Iterator[Frame]:
        """Iterate frames at a steady rate until the viewer is closed.

        Closing the page ends it as well. Ctrl-C is not caught.

        Parameters
        ----------
        fps
            Frames per second. A longer iteration delays the next one, and no frame is made up for: `Frame.dt` is the
            time really passed.

        Yields
        ------
        Frame
            They begin at once, even before a page is open.
        """
        rate = check_real(fps, "fps")
        if not 0.0 < rate <= 1000.0:  # noqa: PLR2004
            raise InputError(f"fps is a number above 0 and at most 1000, not {fps!r}")
        self._start()
        return self._iterate_frames(1.0 / rate)

    def _iterate_frames(self, frame_interval: float) -> Iterator[Frame]:
        start_time = last_time = due_time = perf_counter()
        frame_number, current_time = 0, start_time
        while not self._ended.is_set() and not self.page_closed:
            yield Frame(
                frame_number, current_time - start_time, current_time - last_time if frame_number else frame_interval
            )
            frame_number, last_time = frame_number + 1, current_time
            due_time = max(due_time + frame_interval, perf_counter() - frame_interval)
            self._ended.wait(max(due_time - perf_counter(), 0.0))
            current_time = perf_counter()

    def wait(self) -> None:
        """Serve until the page is closed. Closing the viewer or Ctrl-C ends it as well."""
        self._start()
        try:
            while not self.page_closed and not self._ended.wait(_POLL_INTERVAL_S):
                pass
        except KeyboardInterrupt:
            self.close()

    @property
    def page_closed(self) -> bool:
        """Whether a page was closed and has not returned for some seconds."""
        if self.connected:
            self._page_left.clear()
        return self._page_left.is_set()

    gone: ClassVar[Any] = make_property_alias("View.gone", "page_closed")

    # --- notebooks ---------------------------------------------------------------------------------------------------

    def _repr_html_(self) -> str:
        """Return the page as HTML for a notebook cell.

        Below the page is a picture of the current pose. It is shown where the page cannot be: in a saved notebook
        without its kernel, or after `close()`.
        """
        from html import escape  # noqa: PLC0415  (only for notebooks)

        from poise.notebook import format_html  # noqa: PLC0415

        picture = format_html(self.pose) or escape(repr(self))
        if self._ended.is_set():
            return picture
        server = self._start().server
        frame_url, tab_url = (escape(server.make_notebook_url(), quote=True) for _ in range(2))
        return (
            f'<object type="text/html" data="{frame_url}" aria-label="Poise viewer" style="width:100%;{_CELL_STYLE}">'
            f'{picture}</object><p><a href="{tab_url}" target="_blank" rel="noopener">Open the viewer in a tab</a></p>'
        )

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        """Return the page as HTML, and one line of text."""
        return {"text/html": self._repr_html_(), "text/plain": repr(self)}


def _check_name(name: Any, label: str) -> None:
    if not isinstance(name, str) or not 0 < len(name) <= _MAX_NAME_LENGTH:
        raise InputError(
            f"the name of a {label} is a text of 1 to {_MAX_NAME_LENGTH} characters, not {abbreviate(name)}"
        )


def _build_document(content: Any, goals: Any) -> Document:
    """Build the initial document, with a chain for each goal."""
    document = _build_content_document(content)
    if goals is None:
        return document
    chains = build_goal_chains(document.start, goals)
    return document.replace(chains=chains, scope="chains", free_root=False)


def _build_content_document(content: Any) -> Document:
    if isinstance(content, Rig):
        return build_document(content)
    if isinstance(content, Clip):
        return build_document(
            _build_rig(Pose(content.skeleton, content.skeleton.rest_q), (content,)), clip_name=content.name, chains=()
        )
    if isinstance(content, Pose):
        return build_document(_build_rig(content, ()))
    raise InputError(f"poise.view() shows a rig, a pose or a clip, not a {type(content).__name__}")


def _build_rig(pose: Pose, clips: tuple[Clip, ...]) -> Rig:
    """Build a rig around a pose. It keeps the path of the skeleton's file, for its meshes."""
    return Rig(pose.skeleton, pose, clips, path=getattr(pose.skeleton.source, "path", None))


def _build_driven_document(document: Document, positions: Positions) -> Document:
    """Build a document with poses of the Python program. Nothing is solved, and targets are switched off."""
    chains = tuple(chain.replace(enabled=False) for chain in document.chains)
    return document.replace(is_driven=True, character_positions=positions, chains=chains)


def _arrange_side_by_side(document: Document, pose: Pose) -> Positions:
    """Compute positions for a row of poses along the first axis. The first stays at the origin."""
    if not pose.shape:
        return ((0.0, 0.0, 0.0),)
    points = document.rig.rest.world.positions
    spacing = _SPACING_IN_WIDTHS * float(np.ptp(points[:, 0]) or np.ptp(points, axis=0).max())
    return tuple((i * spacing, 0.0, 0.0) for i in range(len(pose)))
