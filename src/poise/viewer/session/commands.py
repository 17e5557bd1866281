"""Commands of the page, and the messages after a change."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

from poise.errors import FileError, InputError, PoiseError
from poise.io.registry import read_rig
from poise.model.clip import Clip
from poise.runtime.result_cache import get_or_compute
from poise.runtime.version import __version__
from poise.viewer import protocol, scenes
from poise.viewer.document.clip_keys import apply_keys
from poise.viewer.document.document import Document, build_document
from poise.viewer.document.match_table import change_row, rebuild_pair
from poise.viewer.document.playhead import MAX_SPEED, MIN_SPEED
from poise.viewer.document.terrain import build_ground_mesh, plant_clip
from poise.viewer.rig_message import RigMessage, build_rig_message
from poise.viewer.session.downloads import list_formats
from poise.viewer.session.message_queues import Outbox
from poise.viewer.session.pose_state import PoseState
from poise.viewer.session.race import MAX_RACE_SPEED, MIN_RACE_SPEED, build_race
from poise.viewer.session.state_messages import build_welcome
from poise.viewer.session.undo_history import History, Snapshot
from poise.viewer.session.uploads import Uploads

# --- Interface of the session thread for commands --------------------------------------------------------------------


class Session(Protocol):
    """Interface to document, poses and page of a session.

    outbox           messages for the page
    history          steps of undo
    pose_state       the document and the displayed poses
    opened_document  the last opened file's document; the menu of scenes leads back to it
    saved_documents  documents as opened or saved, the newest last; any other one has unsaved changes
    uploads          files sent by the page
    asset_count      number of rigs and terrains sent so far
    file_count       number of files offered so far
    planted_clips    cache of planted clips by clip and terrain: planting is slower than playing

    `SessionThread` implements it.
    """

    outbox: Outbox
    history: History
    pose_state: PoseState
    opened_document: Document
    saved_documents: list[Document]
    uploads: Uploads
    asset_count: int
    file_count: int
    planted_clips: dict[tuple[object, ...], Clip]

    @property
    def document(self) -> Document:
        """The current document."""
        ...

    def take_snapshot(self) -> Snapshot:
        """Return a snapshot for undo."""
        ...

    def set_document(self, document: Document, *, is_quiet: bool = False) -> None:
        """Set the document. `is_quiet`: the page knows already."""
        ...

    def show_message(self, level: str, sentence: str) -> None:
        """Show a message on the page."""
        ...

    def show_busy(self) -> None:
        """Send the running jobs."""
        ...

    def send_state(self, *, at_once: bool = False) -> None:
        """Schedule sending of the state."""
        ...

    def forget_sent_state(self) -> None:
        """Forget what was sent: a new page gets the whole state."""
        ...

    def start_job(
        self,
        sentence: str,
        run_job: Callable[[], Any],
        on_done: Callable[[Any], None],
        on_failed: Callable[[], None] = ...,
    ) -> None:
        """Run a job in the background. Then `on_done` gets its outcome, or `on_failed` is called."""
        ...


# --- Update the page after a change: rig, terrain, clip --------------------------------------------------------------


_MAX_PLANTED_CLIPS = 8  # cached planted clips


def sync_document(session: Session, previous: Document) -> None:
    """Send the page all messages for a changed document."""
    current = session.document
    if current.rig is not previous.rig or current.character_positions != previous.character_positions:
        send_model(session)
    elif current.start is not previous.start or current.solver_skeleton is not previous.solver_skeleton:
        session.outbox.send_start_pose(session.pose_state.pack_start_pose())
    if current.terrain_spec != previous.terrain_spec or current.rig is not previous.rig:
        send_terrain(session)
    if current.marks is not previous.marks:
        send_marks(session)
    if _list_motion_inputs(current) != _list_motion_inputs(previous):
        sync_clip(session)


def _list_motion_inputs(document: Document) -> tuple[object, ...]:
    """List the inputs of the displayed motion."""
    return (document.rig, document.clip_name, document.plants_feet, document.terrain_spec, document.keys)


def send_model(session: Session) -> None:
    """Send the rig: joints, meshes, start pose."""
    document = session.document
    rig_message = _build_message(document)
    session.asset_count += 1
    assets = (
        []
        if rig_message.asset is None
        else [protocol.pack_asset(protocol.MODEL_ASSET, session.asset_count, rig_message.asset)]
    )
    session.outbox.send(
        {**rig_message.message, "id": session.asset_count}, *assets, session.pose_state.pack_start_pose()
    )
    for note in rig_message.notes:
        session.show_message("note", note)


def _build_message(document: Document) -> RigMessage:
    """Build the rig message with its save formats. A rig caches its last, for page reloads."""

    def build_with_formats() -> RigMessage:
        rig_message = build_rig_message(document.rig, document.character_positions, document.package_folders)
        message = {**rig_message.message, "formats": [*list_formats(document.rig), "html"]}
        return RigMessage(message, rig_message.asset, rig_message.notes)

    return get_or_compute(
        document.rig,
        "model of the page",
        (document.character_positions, document.package_folders),
        build_with_formats,
        max_keys=1,
    )


def send_terrain(session: Session) -> None:
    """Send the terrain mesh around the character."""
    document = session.document
    message: dict[str, Any] = {"kind": "terrain", "id": None, "words": document.terrain_spec}
    if document.terrain_spec is None:
        session.outbox.send(message)
        return
    session.asset_count += 1
    mesh = build_ground_mesh(document.rig, document.terrain_spec, document.solver_start)
    session.outbox.send(
        {**message, "id": session.asset_count}, protocol.pack_asset(protocol.TERRAIN_ASSET, session.asset_count, mesh)
    )


def send_marks(session: Session) -> None:
    """Send the point marks of a program."""
    marks = [
        {"name": mark.name, "points": mark.points, "colour": mark.colour, "size": mark.size_px}
        for mark in session.document.marks
    ]
    session.outbox.send({"kind": "marks", "marks": marks})


def sync_clip(session: Session) -> None:
    """Play the document's clip. Its feet are planted in the background."""
    document, playhead = session.document, session.pose_state.playhead
    clip = None if document.clip_name is None else apply_keys(document.rig.clip(document.clip_name), document.keys)
    planted_clip = session.planted_clips.get(_build_planting_key(document))
    playhead.set_clip(clip if planted_clip is None else planted_clip)
    if planted_clip is None and clip is not None and document.plants_feet:
        _start_planting(session, clip)


def _build_planting_key(document: Document) -> tuple[object, ...]:
    """Build the cache key of a planted clip. It is empty without planting."""
    is_planted = document.plants_feet and document.clip_name is not None and document.terrain_spec is not None
    return (document.rig, document.clip_name, document.terrain_spec, document.keys) if is_planted else ()


def _start_planting(session: Session, clip: Clip) -> None:
    rig, spec, key = session.document.rig, str(session.document.terrain_spec), _build_planting_key(session.document)

    def store_clip(planted_clip: Clip) -> None:
        if len(session.planted_clips) >= _MAX_PLANTED_CLIPS:
            del session.planted_clips[next(iter(session.planted_clips))]
        session.planted_clips[key] = planted_clip
        if _build_planting_key(session.document) == key:
            session.pose_state.playhead.set_clip(planted_clip)
            session.pose_state.mark_dirty()
            session.send_state()

    def switch_planting_off() -> None:
        if _build_planting_key(session.document) == key:
            session.set_document(session.document.replace(plants_feet=False))

    session.start_job(
        f"planting the feet of {clip.name or 'the clip'} ...",
        lambda: plant_clip(rig, clip, spec),
        store_clip,
        switch_planting_off,
    )


# --- Open scenes and uploaded files as a new document ----------------------------------------------------------------
#
# One step of undo.


_MAX_NOTES = 3  # notes shown for an opened file


def open_document(session: Session, document: Document) -> None:
    """Replace the document by another one."""
    session.history.add("open", session.take_snapshot())
    document = document.with_program_controls(session.document)
    session.saved_documents.append(document)
    session.pose_state.selected_joint = None
    session.set_document(document, is_quiet=True)
    session.pose_state.reset()
    session.pose_state.playhead.is_playing = document.clip_name is not None
    session.send_state(at_once=True)


def begin_upload(session: Session, args: dict[str, Any]) -> None:
    """Begin an upload and tell the page to continue."""
    with _UploadGuard(session, int(protocol.read_number(args, "id", 0, 2**53))):
        session.uploads.begin(args)
    session.outbox.send({"kind": "upload", "id": args["id"], "go": True})


def begin_upload_file(session: Session, args: dict[str, Any]) -> None:
    """Begin the next file of an upload."""
    with _UploadGuard(session):
        session.uploads.begin_file(args)


def receive_chunk(session: Session, args: dict[str, Any]) -> None:
    """Receive a part of the current file."""
    with _UploadGuard(session):
        session.uploads.write_chunk(args["data"])


def cancel_upload(session: Session, _: dict[str, Any]) -> None:
    """Cancel the upload."""
    session.uploads.cancel()


def finish_upload(session: Session, _: dict[str, Any]) -> None:
    """Open the uploaded files.

    An unreadable file is reported, and the document stays.
    """
    with _UploadGuard(session):
        main_path = session.uploads.finish()

    def show_document(document: Document) -> None:
        session.opened_document = document
        open_document(session, document)
        for note in document.rig.notes[:_MAX_NOTES]:
            session.show_message("note", note)

    session.start_job(
        f"opening {main_path.name} ...",
        lambda: _read_document(main_path),
        show_document,
        lambda: session.uploads.remove_folder(main_path),
    )


def _read_document(path: Path) -> Document:
    rig = read_rig(path)
    if not len(rig.skeleton):
        raise FileError(path, "holds no joints: there is nothing to show")
    return build_document(rig)


class _UploadGuard:
    """Context for stopping an upload after a refusal."""

    def __init__(self, session: Session, upload_id: int | None = None) -> None:
        self._session, self._upload_id = session, upload_id

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: object) -> None:
        if isinstance(error, PoiseError):
            self._session.uploads.refuse()
            self._session.outbox.send({"kind": "upload", "id": self._upload_id, "go": False})


# --- Commands of the page --------------------------------------------------------------------------------------------


def greet_page(session: Session, args: dict[str, Any]) -> None:
    """Send a new page the complete state."""
    session.uploads.cancel()  # the previous page left during an upload
    session.forget_sent_state()
    session.pose_state.is_curve_watched = True
    session.outbox.send(build_welcome(protocol.read_text(args, "key"), __version__))
    session.show_busy()
    scene_name = protocol.read_optional_text(args, "scene")
    if scene_name is not None and scene_name != session.document.scene_name:
        previous_rig = session.document.rig
        try:
            open_scene(session, {"name": scene_name})
        except PoiseError as error:  # an invalid name in the address
            session.show_message("error", str(error))
        if session.document.rig is not previous_rig:
            return  # everything was sent; scenes of one rig send only differences
    send_model(session)
    send_terrain(session)
    send_marks(session)
    session.send_state(at_once=True)
    session.pose_state.mark_dirty()


def let_idle(session: Session, args: dict[str, Any]) -> None:
    """Let the figure breathe and shift its weight, or stop it.

    Only scenes with such a figure do so. The page asks when nobody has touched anything for some seconds.
    """
    session.pose_state.let_idle(is_on=protocol.read_bool(args, "on"))


def select_joint(session: Session, args: dict[str, Any]) -> None:
    """Select a joint for detailed answers, or none with null."""
    joint = protocol.read_optional_text(args, "joint")
    skeleton = session.document.skeleton
    session.pose_state.selected_joint = None if joint is None else skeleton.names[skeleton.index(joint)]
    session.pose_state.request_answer()


def watch_curve(session: Session, args: dict[str, Any]) -> None:
    """Send error curves or leave them out of answers. A page with a folded chart needs none."""
    session.pose_state.is_curve_watched = protocol.read_bool(args, "curve")
    session.pose_state.request_answer()


def run_step(session: Session, _: dict[str, Any]) -> None:
    """Run one iteration and switch to single steps. A race shows its next iteration.

    Raise InputError where a program shows the poses.
    """
    if session.document.is_driven:
        message = "a program shows the poses: there is nothing to step"
        raise InputError(message)
    if session.document.pace == "race":
        step_race(session, {"count": 1})
        return
    if session.document.pace != "step":
        session.history.add("change pace", session.take_snapshot())
        session.set_document(session.document.replace(pace="step"))
    session.pose_state.pending_steps += 1


def reset_pose(session: Session, _: dict[str, Any]) -> None:
    """Return to the start pose. A race restarts.

    In the live mode targets move to their tips; otherwise the solver would move the pose back at once.
    """
    document = session.document
    if document.pace == "race":
        session.pose_state.race.restart()
        _show_race(session)
        return
    session.history.add("reset", session.take_snapshot())
    session.pose_state.reset()
    if document.pace == "live":
        document = document.replace(
            chains=tuple(chain.with_target_at(document.solver_start) for chain in document.chains)
        )
    session.set_document(document)


def set_start_pose(session: Session, _: dict[str, Any]) -> None:
    """Make the displayed pose the start pose. Limits are kept."""
    snapshot, pose_state = session.take_snapshot(), session.pose_state
    displayed_pose = pose_state.build_view_pose(0)
    session.history.add("keep pose as start", snapshot)
    session.set_document(session.document.replace(start=displayed_pose))


def switch_playing(session: Session, args: dict[str, Any]) -> None:
    """Play or pause the clip."""
    is_on = protocol.read_bool(args, "on")
    if is_on:
        session.pose_state.playhead.seek(session.pose_state.playhead.time)
    session.pose_state.playhead.is_playing = is_on
    session.pose_state.mark_dirty()
    session.send_state()


def seek_clip(session: Session, args: dict[str, Any]) -> None:
    """Show the clip at a time [s]."""
    session.pose_state.playhead.seek(protocol.read_number(args, "time", 0.0))
    session.pose_state.mark_dirty()


def set_speed(session: Session, args: dict[str, Any]) -> None:
    """Set the playback speed."""
    session.pose_state.playhead.speed = protocol.read_number(args, "value", MIN_SPEED, MAX_SPEED)
    session.send_state()


def open_race(session: Session, args: dict[str, Any]) -> None:
    """Open a race of methods for a chain. Null is the first one."""
    snapshot, pose_state = session.take_snapshot(), session.pose_state
    chain_name = protocol.read_optional_text(args, "chain")
    document = build_race(session.document, chain_name, pose_state.build_view_pose(0))
    session.history.add("race methods", snapshot)
    session.set_document(document)
    pose_state.race.restart()


def play_race(session: Session, args: dict[str, Any]) -> None:
    """Play or pause the race."""
    session.pose_state.race.play(is_on=protocol.read_bool(args, "on"))
    _show_race(session)


def seek_race(session: Session, args: dict[str, Any]) -> None:
    """Show an iteration of the race."""
    session.pose_state.race.seek(protocol.read_number(args, "iteration", 0.0))
    _show_race(session)


def step_race(session: Session, args: dict[str, Any]) -> None:
    """Go some iterations of the race on, or back."""
    session.pose_state.race.step(int(protocol.read_number(args, "count", -1e6, 1e6)))
    _show_race(session)


def set_race_speed(session: Session, args: dict[str, Any]) -> None:
    """Set the speed of the race [iterations/s]."""
    session.pose_state.race.speed = protocol.read_number(args, "value", MIN_RACE_SPEED, MAX_RACE_SPEED)
    session.send_state()


def _show_race(session: Session) -> None:
    session.pose_state.request_frame()
    session.send_state()


def undo(session: Session, _: dict[str, Any]) -> None:
    """Go one step back."""
    _restore_snapshot(session, session.history.undo)


def redo(session: Session, _: dict[str, Any]) -> None:
    """Go one step forward again."""
    _restore_snapshot(session, session.history.redo)


def _restore_snapshot(session: Session, take_step: Callable[[Any], Any]) -> None:
    current = session.document
    try:
        document, displayed_q, outcomes = take_step(session.take_snapshot())
    except InputError as error:  # pressing undo without steps is no error
        session.show_message("note", str(error))
        return
    document = document.with_program_controls(current)
    if current.is_driven:  # poses and handles of a program are not undone
        document = document.replace(
            is_driven=True, character_positions=current.character_positions, handles=current.handles
        )
    session.set_document(document, is_quiet=True)
    session.pose_state.restore(displayed_q, outcomes)
    session.send_state()


def open_scene(session: Session, args: dict[str, Any]) -> None:
    """Open a demo scene, or with null the initial document."""
    name = protocol.read_optional_text(args, "name")
    document = session.opened_document if name is None else scenes.build_scene(name)
    open_document(session, document)


def save_file(session: Session, args: dict[str, Any]) -> None:
    """Build a file of the displayed pose and offer it."""
    from poise.viewer.session.downloads import build_download  # noqa: PLC0415  (only for saving)

    format_name, pose_state, document = protocol.read_text(args, "format"), session.pose_state, session.document
    pose, clip = pose_state.build_poses(), pose_state.playhead.clip

    def offer_file(download: Any) -> None:
        name, mime, contents = download
        session.file_count += 1
        session.saved_documents.append(document)
        session.send_state()
        message = {"kind": "file", "id": session.file_count, "name": name, "mime": mime}
        session.outbox.send(message, protocol.pack_download(session.file_count, contents))
        session.show_message("done", f"saved {name}")

    session.start_job(
        f"saving {format_name} ...", lambda: build_download(document, pose, clip, format_name), offer_file
    )


def cancel_solve(session: Session, _: dict[str, Any]) -> None:
    """Cancel the running solve. The session thread has done so on arrival of the message."""
    session.pose_state.request_answer()


def apply_change(session: Session, args: dict[str, Any]) -> None:
    """Apply a change of a program to the document."""
    session.set_document(args["change"](session.document))


def finish_job(session: Session, args: dict[str, Any]) -> None:
    """Finish a background job."""
    del session
    args["work"]()


def show_pose(session: Session, args: dict[str, Any]) -> None:
    """Show a pose, or a batch side by side, of a program."""
    session.pose_state.program_pose = args["pose"]
    session.pose_state.mark_dirty()


def change_match(session: Session, args: dict[str, Any]) -> None:
    """Change a row of the match, and retarget anew in the background. One step of undo."""
    document = session.document
    retargeting = change_row(document, args)

    def show_document(changed: Document) -> None:
        if session.document.rig is not document.rig:
            return  # another file was opened, or another row changed, before this one was done
        session.history.add("change match", session.take_snapshot())
        session.set_document(changed)

    session.start_job("retargeting ...", lambda: rebuild_pair(document, retargeting), show_document)


COMMANDS: dict[str, Callable[[Session, dict[str, Any]], None]] = {
    "idle": let_idle, "select": select_joint, "watch": watch_curve, "step": run_step, "reset": reset_pose,
    "keep_start": set_start_pose,
    "play": switch_playing, "seek": seek_clip,
    "race": open_race, "race_play": play_race, "race_seek": seek_race, "race_step": step_race,
    "race_speed": set_race_speed,
    "speed": set_speed, "undo": undo, "redo": redo, "scene": open_scene, "save": save_file, "cancel": cancel_solve,
    "upload": begin_upload, "upload_file": begin_upload_file, "upload_done": finish_upload,
    "upload_cancel": cancel_upload, "match": change_match,
}  # fmt: skip

#: Commands of the server and of programs, not of the page.
INTERNAL: dict[str, Callable[[Session, dict[str, Any]], None]] = {
    "hello": greet_page, "call": apply_change, "after": finish_job, "show": show_pose, "chunk": receive_chunk,
}  # fmt: skip
