"""Open scenes and uploaded files as a new document. One step of undo."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from poise.errors import FileError, PoiseError
from poise.io.registry import read
from poise.viewer.document.document import Document, document_of
from poise.viewer.protocol import number
from poise.viewer.session.session import Session

_MOST_NOTES = 3  # notes shown for an opened file


def open_document(session: Session, document: Document) -> None:
    """Replace the document by another one."""
    session.history.add("open", session.moment())
    document = document.of_program(session.document)
    session.kept.append(document)
    session.stage.selected = None
    session.put(document, quiet=True)
    session.stage.reset()
    session.stage.playhead.playing = document.clip is not None
    session.tell(at_once=True)


def upload(session: Session, args: dict[str, Any]) -> None:
    """Begin an upload and tell the page to continue."""
    with _Answering(session, int(number(args, "id", 0, 2**53))):
        session.uploads.begin(args)
    session.outbox.say({"kind": "upload", "id": args["id"], "go": True})


def upload_file(session: Session, args: dict[str, Any]) -> None:
    """Begin the next file of an upload."""
    with _Answering(session):
        session.uploads.next_file(args)


def chunk(session: Session, args: dict[str, Any]) -> None:
    """Receive a part of the current file."""
    with _Answering(session):
        session.uploads.take(args["data"])


def upload_cancel(session: Session, _: dict[str, Any]) -> None:
    """Cancel the upload."""
    session.uploads.cancel()


def upload_done(session: Session, _: dict[str, Any]) -> None:
    """Open the uploaded files.

    An unreadable file is reported, and the document stays.
    """
    with _Answering(session):
        path = session.uploads.finish()

    def show(document: Document) -> None:
        session.opened = document
        open_document(session, document)
        for note in document.rig.notes[:_MOST_NOTES]:
            session.say("note", note)

    session.job(f"opening {path.name} ...", lambda: _read(path), show, lambda: session.uploads.drop(path))


def _read(path: Path) -> Document:
    rig = read(path)
    if not len(rig.skeleton):
        raise FileError(path, "holds no joints: there is nothing to show")
    return document_of(rig)


class _Answering:
    """Context for stopping an upload after a refusal."""

    def __init__(self, session: Session, number: int | None = None) -> None:
        self._session, self._number = session, number

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: object) -> None:
        if isinstance(error, PoiseError):
            self._session.uploads.refuse()
            self._session.outbox.say({"kind": "upload", "id": self._number, "go": False})
