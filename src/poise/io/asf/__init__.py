"""ASF and AMC reader.

`asf_file` parses a skeleton file and builds the skeleton, `amc_file` finds the skeleton file of a motion file, parses
its frames and converts them to q.
"""
