"""What planting has changed: measures, the report, its page and its picture."""
