"""Arrays and kernel calls of pages without a server.

`program` packs the kernel calls of one solve, `body` a whole body with all its parts, and `natural_poses` the natural
poses of these.
"""
