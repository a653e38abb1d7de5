"""Tournaments and agents beside each other."""
