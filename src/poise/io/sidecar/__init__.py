"""The sidecar `<rig>.ik.toml`: chains, limits and roles for rigs whose files cannot hold them."""
