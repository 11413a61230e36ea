"""The agents' door: the Model Context Protocol over `POST /mcp`."""
