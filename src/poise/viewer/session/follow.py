"""Update the page after a change: rig, terrain, clip."""

from __future__ import annotations

from typing import Any

from poise.maths.remember import remember
from poise.model.clip import Clip
from poise.viewer.document.document import Document
from poise.viewer.document.keys import edited
from poise.viewer.document.landscape import ground_mesh, planted
from poise.viewer.model import Model, model_of
from poise.viewer.protocol import MODEL, TERRAIN, pack_asset
from poise.viewer.session.saving import formats_of
from poise.viewer.session.session import Session

_KEPT = 8  # cached planted clips


def follow(session: Session, old: Document) -> None:
    """Send the page all messages for a changed document."""
    new = session.document
    if new.rig is not old.rig or new.places != old.places:
        send_model(session)
    elif new.start is not old.start or new.working is not old.working:
        session.outbox.say_ghost(session.stage.ghost())
    if new.terrain != old.terrain or new.rig is not old.rig:
        send_terrain(session)
    if new.marks is not old.marks:
        send_marks(session)
    if _playing(new) != _playing(old):
        follow_clip(session)


def _playing(document: Document) -> tuple[object, ...]:
    """List the inputs of the displayed motion."""
    return (document.rig, document.clip, document.plant, document.terrain, document.keys)


def send_model(session: Session) -> None:
    """Send the rig: joints, meshes, start pose."""
    document = session.document
    model = _model(document)
    session.models += 1
    assets = [] if model.asset is None else [pack_asset(MODEL, session.models, model.asset)]
    session.outbox.say({**model.message, "id": session.models}, *assets, session.stage.ghost())
    for note in model.notes:
        session.say("note", note)


def _model(document: Document) -> Model:
    """Build the rig message with its save formats. A rig caches its last, for page reloads."""

    def made() -> Model:
        model = model_of(document.rig, document.places, document.packages)
        message = {**model.message, "formats": [*formats_of(document.rig), "html"]}
        return Model(message, model.asset, model.notes)

    return remember(document.rig, "model of the page", (document.places, document.packages), made, most=1)


def send_terrain(session: Session) -> None:
    """Send the terrain mesh around the character."""
    document = session.document
    message: dict[str, Any] = {"kind": "terrain", "id": None, "words": document.terrain}
    if document.terrain is None:
        session.outbox.say(message)
        return
    session.models += 1
    mesh = ground_mesh(document.rig, document.terrain, document.started)
    session.outbox.say({**message, "id": session.models}, pack_asset(TERRAIN, session.models, mesh))


def send_marks(session: Session) -> None:
    """Send the point marks of a program."""
    marks = [{"name": m.name, "points": m.points, "colour": m.colour, "size": m.size} for m in session.document.marks]
    session.outbox.say({"kind": "marks", "marks": marks})


def follow_clip(session: Session) -> None:
    """Play the document's clip. Its feet are planted in the background."""
    document, playhead = session.document, session.stage.playhead
    clip = None if document.clip is None else edited(document.rig.clip(document.clip), document.keys)
    made = session.planted.get(_planting(document))
    playhead.put(clip if made is None else made)
    if made is None and clip is not None and document.plant:
        _plant(session, clip)


def _planting(document: Document) -> tuple[object, ...]:
    """Build the cache key of a planted clip. It is empty without planting."""
    wanted = document.plant and document.clip is not None and document.terrain is not None
    return (document.rig, document.clip, document.terrain, document.keys) if wanted else ()


def _plant(session: Session, clip: Clip) -> None:
    rig, words, key = session.document.rig, str(session.document.terrain), _planting(session.document)

    def put(made: Clip) -> None:
        if len(session.planted) >= _KEPT:
            del session.planted[next(iter(session.planted))]
        session.planted[key] = made
        if _planting(session.document) == key:
            session.stage.playhead.put(made)
            session.stage.touch()
            session.tell()

    def give_up() -> None:
        if _planting(session.document) == key:
            session.put(session.document.but(plant=False))

    session.job(f"planting the feet of {clip.name or 'the clip'} ...", lambda: planted(rig, clip, words), put, give_up)
