"""Robot arms and legs: Poise beside every inverse-kinematics library that pip can install, judged by Pinocchio."""

from __future__ import annotations

from collections.abc import Sequence


def main(arguments: Sequence[str] = ()) -> int:
    """Run the benchmark. The import is late: every peer's environment loads this package for its own adapter."""
    from robots import suite  # noqa: PLC0415

    return suite.main(arguments)
