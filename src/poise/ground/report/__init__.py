"""Report of planting: measures before and after, page and picture.

`measures.py` measures the feet of one motion, and its hands, knees and elbows: pure functions of their points, the
ground below them and the contacts. `edit_measures.py` and `jumps.py` measure the difference from the source:
accelerations, jerks, bones, changes of step and hitches. `report.py` combines them, `verdict.py` compares them with
bounds, and `page.py` writes a page with SVG charts.
"""
