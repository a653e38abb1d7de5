"""A whole tournament on the cores of one machine: the same decisions as the server's, no database, no broker."""
