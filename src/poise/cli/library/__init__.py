"""A verb for whole libraries: several files, folders and patterns in, a folder and a table of results out."""
