"""Sidecar `<rig>.ik.toml`: chains, limits and roles of a rig."""
