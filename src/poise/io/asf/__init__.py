"""Parts of the reader of ASF and AMC: skeleton, motion, and which of them belong together."""
