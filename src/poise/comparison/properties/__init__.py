"""The table of properties: what each method is like."""
