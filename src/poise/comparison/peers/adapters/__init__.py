"""One adapter per library. The folder is the registry; the file name is the name of the peer."""
