"""Sign-in and API tokens."""
