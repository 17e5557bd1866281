"""Parts of glTF: the container, its buffers and accessors, nodes, and what Poise keeps in extras."""
