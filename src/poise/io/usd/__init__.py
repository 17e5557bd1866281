"""Parts of the USD reader: `child` opens a stage in a process of its own, the others make a rig of what it says."""
