"""The edge of the server: the steps that every request passes before and after its route."""
