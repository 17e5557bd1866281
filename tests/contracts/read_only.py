"""Files of formats that are only read, for contracts that need one."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

from tests.io import mjcf_samples
from tests.io.asf_samples import ASF, amc
from tests.io.fbx_samples import limb as limb_fbx
from tests.io.usd_samples import SUFFIXES as USD
from tests.io.usd_samples import leg as leg_usd


class Example(NamedTuple):
    """A file that can be read.

    data    its bytes or text, or what makes them where that needs a library
    beside  files that belong to it: suffix -> text
    slow    whether it is read in a process of its own
    """

    data: str | Callable[[], bytes]
    beside: Mapping[str, str] = {}
    slow: bool = False


EXAMPLES = {
    ".asf": Example(ASF),
    ".amc": Example(amc(), {".asf": ASF}),
    ".xml": Example(mjcf_samples.ARM),
    ".mjcf": Example(mjcf_samples.ARM),
    ".fbx": Example(limb_fbx, slow=True),
} | {suffix: Example(functools.partial(leg_usd, suffix), slow=True) for suffix in USD}


def put(path: Path) -> None:
    """Write the example of a suffix with the files that belong to it beside it."""
    example = EXAMPLES[path.suffix]
    for suffix, text in example.beside.items():
        path.with_suffix(suffix).write_text(text)
    path.write_bytes(example.data.encode() if isinstance(example.data, str) else example.data())


def is_slow(suffix: str) -> bool:
    """Whether reading takes a process of its own."""
    return suffix in EXAMPLES and EXAMPLES[suffix].slow
