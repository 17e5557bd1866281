"""Readers of a glTF document's skeleton, skins and clips."""
