"""What a comparison found: measured figures, ranks, the verdict, the table."""
