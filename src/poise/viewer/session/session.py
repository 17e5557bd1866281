"""Interface of the session thread for commands."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from poise.model.clip import Clip
from poise.viewer.document.document import Document
from poise.viewer.session.history import History, Moment
from poise.viewer.session.outbox import Outbox
from poise.viewer.session.receiving.uploads import Uploads
from poise.viewer.session.stage import Stage


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
    stage: Stage
    opened: Document
    kept: list[Document]
    uploads: Uploads
    models: int
    files: int
    planted: dict[tuple[object, ...], Clip]

    @property
    def document(self) -> Document:
        """The current document."""
        ...

    def moment(self) -> Moment:
        """Return a snapshot for undo."""
        ...

    def put(self, document: Document, *, quiet: bool = False) -> None:
        """Set the document. `quiet`: the page knows already."""
        ...

    def say(self, level: str, sentence: str) -> None:
        """Show a message on the page."""
        ...

    def say_busy(self) -> None:
        """Send the running jobs."""
        ...

    def tell(self, *, at_once: bool = False) -> None:
        """Schedule sending of the state."""
        ...

    def job(
        self, sentence: str, work: Callable[[], Any], done: Callable[[Any], None], failed: Callable[[], None] = ...
    ) -> None:
        """Run a job in the background. Then `done` gets its outcome, or `failed` is called."""
        ...
