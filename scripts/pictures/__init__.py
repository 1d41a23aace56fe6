"""Pictures of the documentation that show how something works."""
