"""Report a comparison as a page or as figures. page.py writes one HTML page, matplotlib_figure.py figures for papers.

The page consists of parts with one question each:

    charts          method styles (colour, dash, short name) and shared drawing functions
    diagrams        overview, convergence, cost of longer chains and larger batches, distributions, missed targets
    stick_figures   final poses side by side
    page_text       task, further findings, tables, methodology and the repeating call
    page            the page with its style sheet
"""
