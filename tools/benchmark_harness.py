"""Harness of the benchmarks (`benchmarks/harness.py`) for the tools: test data, caches and tables of results."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parent.parent / "benchmarks"))
import harness

__all__ = ["harness"]
