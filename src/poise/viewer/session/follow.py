"""What follows when the document has changed: the rig, the ground and the clip that the page needs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from poise.model.clip import Clip
from poise.viewer.document.document import Document
from poise.viewer.model import Model, model_of
from poise.viewer.serve.protocol import MODEL, TERRAIN, pack_asset
from poise.viewer.session.landscape import ground_mesh, planted
from poise.viewer.session.saving import formats_of

if TYPE_CHECKING:
    from poise.viewer.session.studio import Studio

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
    model = _model(document)
    studio.models += 1
    assets = [] if model.asset is None else [pack_asset(MODEL, studio.models, model.asset)]
    studio.outbox.say({**model.message, "id": studio.models}, *assets, studio.stage.ghost())
    for note in model.notes:
        studio.say("note", note)


def _model(document: Document) -> Model:
    """The model with the formats that it can be saved as; a rig remembers its last, for pages that are loaded again."""
    last: tuple[object, Model] | None = document.rig.__dict__.get("_model")
    if last is None or last[0] != document.places:
        model = model_of(document.rig, document.places)
        message = {**model.message, "formats": [*formats_of(document.rig), "html"]}
        last = (document.places, Model(message, model.asset, model.notes))
        document.rig.__dict__["_model"] = last
    return last[1]


def send_terrain(studio: Studio) -> None:
    """Send the ground as a mesh around the figure."""
    document = studio.document
    message: dict[str, Any] = {"kind": "terrain", "id": None, "words": document.terrain}
    if document.terrain is None:
        studio.outbox.say(message)
        return
    studio.models += 1
    mesh = ground_mesh(document.rig, document.terrain, document.started)
    studio.outbox.say({**message, "id": studio.models}, pack_asset(TERRAIN, studio.models, mesh))


def follow_clip(studio: Studio) -> None:
    """Play the document's clip; its feet are planted beside the dragging."""
    document, playhead = studio.document, studio.stage.playhead
    clip = None if document.clip is None else document.rig.clip(document.clip)
    made = studio.planted.get(_planting(document))
    playhead.put(clip if made is None else made)
    if made is None and clip is not None and document.plant:
        _plant(studio, clip)


def _planting(document: Document) -> tuple[object, ...]:
    """What a planted clip depends on; nothing is planted under None."""
    wanted = document.plant and document.clip is not None and document.terrain is not None
    return (document.rig, document.clip, document.terrain) if wanted else ()


def _plant(studio: Studio, clip: Clip) -> None:
    rig, words, key = studio.document.rig, str(studio.document.terrain), _planting(studio.document)

    def put(made: Clip) -> None:
        if len(studio.planted) >= _KEPT:
            del studio.planted[next(iter(studio.planted))]
        studio.planted[key] = made
        if _planting(studio.document) == key:
            studio.stage.playhead.put(made)
            studio.stage.touch()
            studio.tell()

    def give_up() -> None:
        if _planting(studio.document) == key:
            studio.put(studio.document.but(plant=False))

    studio.job(f"planting the feet of {clip.name or 'the clip'} ...", lambda: planted(rig, clip, words), put, give_up)
