"""Commands of the page, and the messages after a change."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import version
from typing import Any

from poise.errors import InputError, PoiseError
from poise.viewer import scenes
from poise.viewer.protocol import number, pack_download, text, text_or_none, truth
from poise.viewer.session import opening
from poise.viewer.session.follow import send_marks, send_model, send_terrain
from poise.viewer.session.playing import FASTEST, SLOWEST
from poise.viewer.session.session import Session
from poise.viewer.session.state import welcome


def hello(session: Session, args: dict[str, Any]) -> None:
    """Send a new page the complete state."""
    session.uploads.cancel()  # the previous page left during an upload
    session.outbox.say(welcome(text(args, "key"), version("poise")))
    session.say_busy()
    wanted = text_or_none(args, "scene")
    if wanted is not None and wanted != session.document.scene:
        before = session.document.rig
        try:
            scene(session, {"name": wanted})
        except PoiseError as error:  # an invalid name in the address
            session.say("error", str(error))
        if session.document.rig is not before:
            return  # everything was sent; scenes of one rig send only differences
    send_model(session)
    send_terrain(session)
    send_marks(session)
    session.tell(at_once=True)
    session.stage.touch()


def select(session: Session, args: dict[str, Any]) -> None:
    """Select a joint for detailed answers, or none with null."""
    joint = text_or_none(args, "joint")
    names = session.document.skeleton
    session.stage.selected = None if joint is None else names.names[names.index(joint)]
    session.stage.say_again()


def step(session: Session, _: dict[str, Any]) -> None:
    """Run one iteration and switch to single steps.

    Raise InputError where a program shows the poses.
    """
    if session.document.driven:
        message = "a program shows the poses: there is nothing to step"
        raise InputError(message)
    if session.document.run != "step":
        session.history.add("change pace", session.moment())
        session.put(session.document.but(run="step"))
    session.stage.steps += 1


def reset(session: Session, _: dict[str, Any]) -> None:
    """Return to the start pose.

    In the live mode targets move to their tips; otherwise the solver would move the pose back at once.
    """
    document = session.document
    session.history.add("reset", session.moment())
    session.stage.reset()
    if document.run == "live":
        document = document.but(chains=tuple(chain.placed(document.started) for chain in document.chains))
    session.put(document)


def keep_start(session: Session, _: dict[str, Any]) -> None:
    """Make the displayed pose the start pose. Limits are kept."""
    before, stage = session.moment(), session.stage
    shown = stage.pose_of(0)
    session.history.add("keep pose as start", before)
    session.put(session.document.but(start=shown))


def play(session: Session, args: dict[str, Any]) -> None:
    """Play or pause the clip."""
    on = truth(args, "on")
    if on:
        session.stage.playhead.seek(session.stage.playhead.time)
    session.stage.playhead.playing = on
    session.stage.touch()
    session.tell()


def seek(session: Session, args: dict[str, Any]) -> None:
    """Show the clip at a time [s]."""
    session.stage.playhead.seek(number(args, "time", 0.0))
    session.stage.touch()


def speed(session: Session, args: dict[str, Any]) -> None:
    """Set the playback speed."""
    session.stage.playhead.speed = number(args, "value", SLOWEST, FASTEST)
    session.tell()


def undo(session: Session, _: dict[str, Any]) -> None:
    """Go one step back."""
    _restore(session, session.history.undo)


def redo(session: Session, _: dict[str, Any]) -> None:
    """Go one step forward again."""
    _restore(session, session.history.redo)


def _restore(session: Session, go: Callable[[Any], Any]) -> None:
    now = session.document
    try:
        document, shown, outcomes = go(session.moment())
    except InputError as nothing:  # pressing undo without steps is no error
        session.say("note", str(nothing))
        return
    document = document.of_program(now)
    if now.driven:  # poses and handles of a program are not undone
        document = document.but(driven=True, places=now.places, handles=now.handles)
    session.put(document, quiet=True)
    session.stage.restore(shown, outcomes)
    session.tell()


def scene(session: Session, args: dict[str, Any]) -> None:
    """Open a demo scene, or with null the initial document."""
    name = text_or_none(args, "name")
    document = session.opened if name is None else scenes.scene(name)
    opening.open_document(session, document)


def save(session: Session, args: dict[str, Any]) -> None:
    """Build a file of the displayed pose and offer it."""
    from poise.viewer.session.saves import saved  # noqa: PLC0415  (only for saving)

    wanted, stage, document = text(args, "format"), session.stage, session.document
    pose, clip = stage.poses(), stage.playhead.clip

    def offer(made: Any) -> None:
        name, mime, contents = made
        session.files += 1
        session.kept.append(document)
        session.tell()
        message = {"kind": "file", "id": session.files, "name": name, "mime": mime}
        session.outbox.say(message, pack_download(session.files, contents))
        session.say("done", f"saved {name}")

    session.job(f"saving {wanted} ...", lambda: saved(document, pose, clip, wanted), offer)


def cancel(session: Session, _: dict[str, Any]) -> None:
    """Cancel the running solve. The session thread has done so on arrival of the message."""
    session.stage.say_again()


def call(session: Session, args: dict[str, Any]) -> None:
    """Apply a change of a program to the document."""
    session.put(args["change"](session.document))


def after(session: Session, args: dict[str, Any]) -> None:
    """Finish a background job."""
    del session
    args["work"]()


def show(session: Session, args: dict[str, Any]) -> None:
    """Show a pose, or a batch side by side, of a program."""
    session.stage.driven = args["pose"]
    session.stage.touch()


COMMANDS: dict[str, Callable[[Session, dict[str, Any]], None]] = {
    "select": select, "step": step, "reset": reset, "keep_start": keep_start, "play": play, "seek": seek,
    "speed": speed, "undo": undo, "redo": redo, "scene": scene, "save": save, "cancel": cancel,
    "upload": opening.upload, "upload_file": opening.upload_file, "upload_done": opening.upload_done,
    "upload_cancel": opening.upload_cancel,
}  # fmt: skip

#: Commands of the server and of programs, not of the page.
INTERNAL: dict[str, Callable[[Session, dict[str, Any]], None]] = {
    "hello": hello, "call": call, "after": after, "show": show, "chunk": opening.chunk,
}  # fmt: skip
