"""Files of one format as files of another, and whole libraries of files: a job for each, a process for each core."""
