"""Goals, and what is packed of a problem."""
