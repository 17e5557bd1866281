"""Parts of the MJCF reader."""
