"""What the page asks for besides changes of the document."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from poise.errors import InputError, PoiseError
from poise.viewer import scenes
from poise.viewer.serve.protocol import number, pack_download, text, text_or_none, truth
from poise.viewer.session.follow import send_model, send_terrain
from poise.viewer.session.playing import FASTEST, SLOWEST
from poise.viewer.session.state import welcome

if TYPE_CHECKING:
    from poise.viewer.session.studio import Studio


def hello(studio: Studio, args: dict[str, Any]) -> None:
    """A page has come: tell it everything."""
    opened = None if studio.opened.scene is not None else studio.opened.name
    studio.outbox.say({**welcome(text(args, "key"), version("poise")), "opened": opened})
    wanted = text_or_none(args, "scene")
    if wanted is not None and wanted != studio.document.scene:
        before = studio.document.rig
        try:
            scene(studio, {"name": wanted})
        except PoiseError as error:  # somebody has typed it
            studio.say("error", str(error))
        if studio.document.rig is not before:
            return  # everything was sent; scenes of one rig send only what differs
    send_model(studio)
    send_terrain(studio)
    studio.tell(at_once=True)
    studio.stage.touch()


def select(studio: Studio, args: dict[str, Any]) -> None:
    """Say more of a joint from now on; null: of none."""
    joint = text_or_none(args, "joint")
    names = studio.document.skeleton
    studio.stage.selected = None if joint is None else names.names[names.index(joint)]
    studio.stage.say_again()


def step(studio: Studio, _: dict[str, Any]) -> None:
    """One iteration; from now on poses change by steps only. InputError where a program shows the poses."""
    if studio.document.driven:
        message = "a program shows the poses: there is nothing to step"
        raise InputError(message)
    if studio.document.run != "step":
        studio.history.add("change pace", studio.moment())
        studio.put(studio.document.but(run="step"))
    studio.stage.steps += 1


def reset(studio: Studio, _: dict[str, Any]) -> None:
    """Go back to the start pose; while solving is live the targets come along, else it would come back at once."""
    document = studio.document
    studio.history.add("reset", studio.moment())
    studio.stage.reset()
    if document.run == "live":
        document = document.but(chains=tuple(chain.placed(document.started) for chain in document.chains))
    studio.put(document)


def keep_start(studio: Studio, _: dict[str, Any]) -> None:
    """Make the pose that is shown the start pose; limits are kept."""
    before, stage = studio.moment(), studio.stage
    shown = stage.pose_of(0)
    studio.history.add("keep pose as start", before)
    studio.put(studio.document.but(start=shown))


def play(studio: Studio, args: dict[str, Any]) -> None:
    """Play or pause the clip."""
    on = truth(args, "on")
    if on:
        studio.stage.playhead.seek(studio.stage.playhead.time)
    studio.stage.playhead.playing = on
    studio.stage.touch()
    studio.tell()


def seek(studio: Studio, args: dict[str, Any]) -> None:
    """Show the clip at a time [s]."""
    studio.stage.playhead.seek(number(args, "time", 0.0))
    studio.stage.touch()


def speed(studio: Studio, args: dict[str, Any]) -> None:
    """Play faster or slower."""
    studio.stage.playhead.speed = number(args, "value", SLOWEST, FASTEST)
    studio.tell()


def undo(studio: Studio, _: dict[str, Any]) -> None:
    """One step back."""
    _restore(studio, studio.history.undo)


def redo(studio: Studio, _: dict[str, Any]) -> None:
    """One step forward again."""
    _restore(studio, studio.history.redo)


def _restore(studio: Studio, go: Callable[[Any], Any]) -> None:
    now = studio.document
    document, shown, outcomes = go(studio.moment())
    if now.driven:  # what a program shows and holds is not the page's to undo
        document = document.but(driven=True, places=now.places, handles=now.handles)
    studio.put(document, quiet=True)
    studio.stage.restore(shown, outcomes)
    studio.tell()


def scene(studio: Studio, args: dict[str, Any]) -> None:
    """Show a demo scene, or with null what the viewer was started with."""
    name = text_or_none(args, "name")
    document = studio.opened if name is None else scenes.scene(name)
    studio.history.add("open", studio.moment())
    studio.stage.selected = None
    studio.put(document, quiet=True)
    studio.stage.reset()
    studio.stage.playhead.playing = document.clip is not None
    studio.tell(at_once=True)


def save(studio: Studio, args: dict[str, Any]) -> None:
    """Make a file of what is shown and offer it to the page."""
    from poise.viewer.session.saves import saved  # noqa: PLC0415  (only when something is saved)

    wanted, stage, document = text(args, "format"), studio.stage, studio.document
    pose, clip = stage.poses(), stage.playhead.clip

    def offer(made: Any) -> None:
        name, mime, contents = made
        studio.files += 1
        message = {"kind": "file", "id": studio.files, "name": name, "mime": mime}
        studio.outbox.say(message, pack_download(studio.files, contents))
        studio.say("done", f"saved {name}")

    studio.job(f"saving {wanted} ...", lambda: saved(document, pose, clip, wanted), offer)


def call(studio: Studio, args: dict[str, Any]) -> None:
    """Change the document as a program says."""
    studio.put(args["change"](studio.document))


def after(studio: Studio, args: dict[str, Any]) -> None:
    """Something long has ended."""
    del studio
    args["work"]()


def show(studio: Studio, args: dict[str, Any]) -> None:
    """Show a pose, or a batch side by side, that a program has made."""
    studio.stage.driven = args["pose"]
    studio.stage.touch()


COMMANDS: dict[str, Callable[[Studio, dict[str, Any]], None]] = {
    "select": select, "step": step, "reset": reset, "keep_start": keep_start, "play": play, "seek": seek,
    "speed": speed, "undo": undo, "redo": redo, "scene": scene, "save": save,
}  # fmt: skip

#: What only the server and programs may ask for.
INTERNAL: dict[str, Callable[[Studio, dict[str, Any]], None]] = {
    "hello": hello, "call": call, "after": after, "show": show,
}  # fmt: skip
