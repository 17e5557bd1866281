"""What a file holds, as values: skeleton, pose, clip, rig, limits, roles."""
