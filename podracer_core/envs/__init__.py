"""Environments: the catalogue (no torch), the vectorised contract, and what implements it."""
