"""solve() and what stands around it: prepared problems, the judge, results, tracking, clips, fitting."""
