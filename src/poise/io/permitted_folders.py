"""Permitted folders of the files included by a rig file.

They are its own folder, and one more of the user.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

INCLUDE_HINT = "permit a folder that holds it: include_root=DIR in Python, --include-root DIR on the command line"


@dataclass(frozen=True)
class PermittedFolders:
    """The own folder of a rig file, and a permitted one.

    Both are without symbolic links.
    """

    rig_folder: Path
    include_root: Path | None = None

    @classmethod
    def from_path(cls, path: Path, include_root: Path | None = None) -> PermittedFolders:
        """Build the permitted folders of a rig file.

        Parameters
        ----------
        path
            The rig file.
        include_root
            The further folder, or None.
        """
        return cls(path.parent.resolve(), None if include_root is None else include_root.resolve())

    def contains(self, target: Path) -> bool:
        """Return whether a path lies in or below a folder.

        The path has no symbolic links.

        Parameters
        ----------
        target
            A path from `Path.resolve`.
        """
        folders = (self.rig_folder,) if self.include_root is None else (self.rig_folder, self.include_root)
        return any(folder in target.parents for folder in folders)

    def format_refusal(self, name: str) -> str:
        """Write the message for a refused file outside the folders. It also explains how to permit the file.

        Parameters
        ----------
        name
            Displayed name of the file.
        """
        folder_text = "the file's folder" + ("" if self.include_root is None else f" and of {self.include_root}")
        return f"{name} leads out of {folder_text}; it was not opened; {INCLUDE_HINT}"
