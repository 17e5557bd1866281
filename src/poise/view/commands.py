"""What the page asks for besides changes of the document, and what follows when the document has changed."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from poise.clip import Clip
from poise.errors import PoiseError
from poise.view import scenes
from poise.view.document import Document
from poise.view.landscape import land_of, planted
from poise.view.model import model_of
from poise.view.parts.terrain import terrain_glb
from poise.view.playing import FASTEST, SLOWEST
from poise.view.protocol import MODEL, TERRAIN, number, pack_asset, pack_download, text, text_or_none, truth
from poise.view.state import welcome

if TYPE_CHECKING:
    from poise.view.studio import Studio

_AROUND = 6.0  # heights of the figure that its ground is wide


def hello(studio: Studio, args: dict[str, Any]) -> None:
    """A page has come: tell it everything."""
    studio.outbox.say(welcome(text(args, "key"), version("poise")))
    wanted = text_or_none(args, "scene")
    if wanted is not None and wanted != studio.document.scene:
        scene(studio, {"name": wanted})
    send_model(studio)
    send_terrain(studio)
    studio.tell()
    studio.stage.touch()


def select(studio: Studio, args: dict[str, Any]) -> None:
    """Say more of a joint from now on; null: of none."""
    joint = text_or_none(args, "joint")
    names = studio.document.skeleton
    studio.stage.selected = None if joint is None else names.names[names.index(joint)]
    studio.stage.say_again()


def step(studio: Studio, _: dict[str, Any]) -> None:
    """One iteration; from now on poses change by steps only."""
    if studio.document.run != "step":
        studio.put(studio.document.but(run="step"))
    studio.stage.steps += 1


def reset(studio: Studio, _: dict[str, Any]) -> None:
    """Go back to the start pose."""
    studio.history.add("reset", studio.moment())
    studio.stage.reset()
    studio.tell()


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
    document, shown = go(studio.moment())
    studio.put(document, quiet=True)
    studio.stage.restore(shown)
    studio.tell()


def scene(studio: Studio, args: dict[str, Any]) -> None:
    """Show a demo scene; what was done before cannot be undone there."""
    document = scenes.scene(text(args, "name"))
    studio.history.clear()
    studio.stage.selected = None
    studio.put(document)
    studio.stage.reset()


def save(studio: Studio, args: dict[str, Any]) -> None:
    """Make a file of what is shown and offer it to the page."""
    from poise.view.saves import saved  # noqa: PLC0415  (only when something is saved)

    wanted, stage, document = text(args, "format"), studio.stage, studio.document
    pose, clip = stage.pose_of(0), stage.playhead.clip

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
    studio.outbox.say({"kind": "busy", "text": None})
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


# --- what follows --------------------------------------------------------------------------------------------------


def follow(studio: Studio, old: Document) -> None:
    """Send and prepare what a changed document needs."""
    new = studio.document
    if new.rig is not old.rig or new.places != old.places:
        send_model(studio)
    elif new.start is not old.start or new.working is not old.working:
        studio.outbox.say_binary(studio.stage.ghost())
    if new.terrain != old.terrain or new.rig is not old.rig:
        send_terrain(studio)
    if (new.rig, new.clip, new.plant, new.terrain) != (old.rig, old.clip, old.plant, old.terrain):
        follow_clip(studio)


def send_model(studio: Studio) -> None:
    """Send the rig: names and lengths, meshes, the start pose."""
    document = studio.document
    model = model_of(document.rig, document.started, document.places)
    studio.models += 1
    message = {**model.message, "kind": "model", "id": studio.models, "asset": model.asset is not None}
    assets = [] if model.asset is None else [pack_asset(MODEL, studio.models, model.asset)]
    studio.outbox.say(message, *assets, studio.stage.ghost())
    for note in model.notes:
        studio.say("note", note)


def send_terrain(studio: Studio) -> None:
    """Send the ground as a mesh around the figure."""
    document = studio.document
    message: dict[str, Any] = {"kind": "terrain", "id": None, "words": document.terrain}
    if document.terrain is None:
        studio.outbox.say(message)
        return
    land = land_of(document.rig, document.terrain)
    studio.models += 1
    mesh = terrain_glb(land.terrain, document.started.world.positions[0], _AROUND * land.height)
    studio.outbox.say({**message, "id": studio.models}, pack_asset(TERRAIN, studio.models, mesh))


def follow_clip(studio: Studio) -> None:
    """Play the document's clip; planting it is done beside the dragging."""
    document, playhead = studio.document, studio.stage.playhead
    if document.clip is None:
        playhead.put(None)
        return
    clip = document.rig.clip(document.clip)
    if not document.plant or document.terrain is None:
        playhead.put(clip)
        return
    key = (document.rig, document.clip, document.terrain)
    if key in studio.planted:
        playhead.put(studio.planted[key])
        return
    playhead.put(clip)
    words = document.terrain

    def put(made: Clip) -> None:
        studio.planted[key] = made
        now = studio.document
        if now.plant and (now.rig, now.clip, now.terrain) == key:
            playhead.put(made)
            studio.stage.touch()
            studio.tell()

    def give_up(_: PoiseError) -> None:
        if studio.document.plant and studio.document.clip == document.clip:
            studio.put(studio.document.but(plant=False))

    studio.job(
        f"planting the feet of {clip.name or 'the clip'} ...", lambda: planted(document.rig, clip, words), put, give_up
    )
