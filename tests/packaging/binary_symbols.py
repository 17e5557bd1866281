"""Symbols of dynamic libraries for macOS (Mach-O) and Windows (PE), read from the files."""

from __future__ import annotations

import struct
from typing import NamedTuple


class Symbols(NamedTuple):
    """Symbols of a library.

    machine     "arm64" or "x86_64"
    exported    names that it gives
    imported    names that it needs from elsewhere
    libraries   files that it names for these
    """

    machine: str
    exported: set[str]
    imported: set[str]
    libraries: set[str]


def read_symbols(data: bytes) -> Symbols:
    """Read the symbols of a library."""
    return _read_windows(data) if data[:2] == b"MZ" else _read_macos(data)


def _read_text(data: bytes, at: int) -> str:
    return data[at : data.index(b"\0", at)].decode()


_MACOS_MACHINES = {0x0100000C: "arm64", 0x01000007: "x86_64"}
_SYMBOL_TABLE, _LOAD_LIBRARY = 0x2, 0xC  # load commands
_EXTERNAL, _PRIVATE, _KIND = 0x01, 0x10, 0x0E  # bits of a symbol's type


def _read_macos(data: bytes) -> Symbols:
    magic, machine, _, file_type, command_count = struct.unpack_from("<5I", data)
    assert (magic, file_type) in ((0xFEEDFACF, 6), (0xFEEDFACF, 8))  # a dynamic library, or a bundle
    exported, imported, libraries, at = set(), set(), set(), 32
    for _ in range(command_count):
        command, size = struct.unpack_from("<2I", data, at)
        if command == _LOAD_LIBRARY:
            libraries.add(_read_text(data, at + struct.unpack_from("<I", data, at + 8)[0]))
        if command == _SYMBOL_TABLE:
            first, count, texts = struct.unpack_from("<3I", data, at + 8)
            for name_at, kind in struct.iter_unpack("<IB11x", data[first : first + 16 * count]):
                if kind & _EXTERNAL and not kind & _PRIVATE:
                    name = _read_text(data, texts + name_at).removeprefix("_")
                    (exported if kind & _KIND else imported).add(name)
        at += size
    return Symbols(_MACOS_MACHINES[machine], exported, imported, libraries)


_WINDOWS_MACHINES = {0x8664: "x86_64", 0xAA64: "arm64"}


def _read_windows(data: bytes) -> Symbols:
    (header,) = struct.unpack_from("<I", data, 0x3C)
    assert data[header : header + 4] == b"PE\0\0"
    machine, section_count = struct.unpack_from("<2H", data, header + 4)
    (optional_size,) = struct.unpack_from("<H", data, header + 20)
    optional = header + 24
    sections = [
        struct.unpack_from("<4I", data, optional + optional_size + 40 * i + 8) for i in range(section_count)
    ]  # size in memory, address, size in the file, place in the file

    def locate(address: int) -> int:
        return next(place + address - start for size, start, _, place in sections if start <= address < start + size)

    exports, _, imports, _ = struct.unpack_from("<4I", data, optional + 112)
    exported, imported, libraries = set(), set(), set()
    if exports:
        (count,), (names,) = (struct.unpack_from("<I", data, locate(exports) + offset) for offset in (24, 32))
        exported = {
            _read_text(data, locate(address)) for address in struct.unpack_from(f"<{count}I", data, locate(names))
        }
    at = locate(imports)
    while any(data[at : at + 20]):
        thunks, _, _, name, _ = struct.unpack_from("<5I", data, at)
        libraries.add(_read_text(data, locate(name)))
        thunk_at = locate(thunks)
        while (thunk := struct.unpack_from("<Q", data, thunk_at)[0]) != 0:
            imported.add(_read_text(data, locate(thunk) + 2))
            thunk_at += 8
        at += 20
    return Symbols(_WINDOWS_MACHINES[machine], exported, imported, libraries)
