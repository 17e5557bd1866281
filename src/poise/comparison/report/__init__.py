"""Report a comparison as a page or as figures. page.py writes one HTML page, matplotlib_figure.py figures for papers.

page.py puts the parts together; each part makes HTML of one question and takes its colours from style.py:

    answer     the picture that answers, at the top
    words      the answer and what was asked, in sentences
    tables     figures in groups, what each method supports, who refused
    curves     convergence, cost against joints and batch size
    spreads    errors left and times of calls; steps along paths
    places     success against reach, and where in the workspace targets are missed
    figures    poses side by side
    notes      how everything was measured, and how to repeat it
    charts     what all drawings share; look: the colour, dash and short name of a method
"""
