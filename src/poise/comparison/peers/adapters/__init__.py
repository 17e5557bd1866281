"""One adapter per library; the folder is the registry, the file name is the name of the peer."""
