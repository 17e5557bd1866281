"""Server of the page: access control, static files, messages."""
