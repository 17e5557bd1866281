"""`python benchmarks/robots/run.py [--peers ...] [--robots ...] [--tasks ...] [--targets N]`: see README.md here."""

import sys
from pathlib import Path

sys.path[0] = str(Path(__file__).parent.parent)  # this folder is the package `robots`, beside harness.py

import robots  # noqa: E402

if __name__ == "__main__":
    sys.exit(robots.main(sys.argv[1:]))
