"""Tournaments: their models, decisions on the database, pages, API and sockets."""
