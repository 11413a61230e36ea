"""The OpenAPI 3.1 document: the routes with what their handlers really take and answer."""
