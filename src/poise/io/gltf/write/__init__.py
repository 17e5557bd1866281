"""From a rig, clip or pose to a glTF document."""
