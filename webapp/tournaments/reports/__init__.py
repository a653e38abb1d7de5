"""A tournament told on one page."""
