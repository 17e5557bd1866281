"""Files of formats that are only read, for contracts that need one: name -> text, the suffix's own one last."""

from __future__ import annotations

from pathlib import Path

from tests.io import mjcf_samples
from tests.io.asf_samples import ASF, amc

EXAMPLES = {
    ".asf": {"": ASF},
    ".amc": {".asf": ASF, "": amc()},
    ".xml": {"": mjcf_samples.ARM},
    ".mjcf": {"": mjcf_samples.ARM},
}


def put(path: Path) -> None:
    """Write an example with the files that belong to it beside it."""
    for suffix, text in EXAMPLES[path.suffix].items():
        (path.with_suffix(suffix) if suffix else path).write_text(text)
