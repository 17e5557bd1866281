"""How far goals are from being met, and what the degrees of freedom do to that."""
