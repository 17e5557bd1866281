"""Report of planting: measures before and after, page and picture.

`measures.py` measures the feet: pure functions of the sole points, the ground below them and the contacts.
`part_measures.py` does so for hands, knees and elbows. `edit_measures.py` and `jumps.py` measure the difference from
the source: accelerations, jerks, bones. `report.py` combines them, `verdict.py` compares them with bounds, and
`page.py` writes a page with SVG charts.
"""
