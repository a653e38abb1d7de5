"""The form of a new tournament."""
