"""Reception of uploaded files."""
