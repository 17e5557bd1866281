"""Ground from files: height maps and meshes."""
