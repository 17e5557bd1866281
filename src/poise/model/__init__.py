"""Data model: skeleton, pose, clip, rig, limits, roles."""
