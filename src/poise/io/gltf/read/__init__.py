"""From a glTF document to a skeleton, skins and clips."""
