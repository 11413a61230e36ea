"""The processes of a server: how they start, share a socket, watch each other and end."""
