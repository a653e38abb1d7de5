"""Sign-in links and API tokens."""
