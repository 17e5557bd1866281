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

    outbox   messages that wait for the page
    history  steps of undo
    stage    the document and the poses that are shown
    opened   the document that the menu of scenes leads back to: the file that was opened last
    kept     documents as they were opened or saved, the newest last: who has another has unsaved changes
    uploads  files that the page sends
    models   how many models and grounds were sent: the number of the last
    files    how many files were offered
    planted  clips whose feet were planted, by clip and ground: planting takes longer than playing

    `Studio` is one.
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
        """Set the document. `quiet`: the page knows already. `quiet`: the page knows already."""
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
