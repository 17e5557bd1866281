"""Shared code of the solvers.

`interface.py` has the request and answer of a solver, its capabilities and checks of its answer, `option_parsing.py`
the options of solver and goal classes. `lm_engine.py` and `jacobian_method.py` run the kernels. `solution_search.py`
looks for the closest or all solutions from several starts, and `answer_refinement.py` refines answers for sheared rigs
and balance. `stiffness.py` and `random_starts.py` have joint weights and the random numbers of restarts.
"""
