"""Skeletons, poses, clips, limits and roles."""
