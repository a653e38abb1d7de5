"""Tournaments and all that belongs to them."""
