"""The server of the page: who may talk to it, its files, its messages."""
