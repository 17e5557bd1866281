"""Readers in a process of their own, for libraries that can crash: `ask` starts one, `answer` is what it runs."""
