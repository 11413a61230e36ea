"""The page of operators: the state of the read models, verified and rebuilt."""
