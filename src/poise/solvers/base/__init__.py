"""What solvers share: the contract, the engine, the Jacobian methods."""
