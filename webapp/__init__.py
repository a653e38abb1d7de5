"""The web side of Podracer: Django, its pages, its API and its sockets."""
