"""Parts of the FBX reader: `child` reads a file in a process of its own, the others make a rig of what it says."""
