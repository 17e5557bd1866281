"""What follows when the document has changed: the rig, the ground and the clip that the page needs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from poise.clip import Clip
from poise.errors import PoiseError
from poise.view.chains import vector
from poise.view.document import Document
from poise.view.landscape import ground_mesh, planted
from poise.view.model import model_of
from poise.view.protocol import MODEL, TERRAIN, pack_asset
from poise.view.saving import formats_of

if TYPE_CHECKING:
    from poise.view.studio import Studio
_KEPT = 8  # planted clips


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
    model = model_of(document.rig, document.places)
    studio.models += 1
    formats = [*formats_of(document.rig), "html"]
    message = {
        **model.message, "kind": "model", "id": studio.models, "asset": model.asset is not None, "formats": formats,
    }  # fmt: skip
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
    studio.models += 1
    mesh = ground_mesh(document.rig, document.terrain, vector(document.started.world.positions[0]))
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
        if len(studio.planted) >= _KEPT:
            del studio.planted[next(iter(studio.planted))]
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
