"""Parts of VRM animations: the T pose of any figure, motion relative to it, and documents that are kept."""
