"""Figures of the documentation, one module each, drawn from real solves.

`_style` has the common look, `_build` draws and compares them.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent.parent / "benchmarks"))  # its manifest
