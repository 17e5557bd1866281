"""VRM animations of humanoid characters: T pose, retargeting and documents."""
