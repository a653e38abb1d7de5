"""The sockets of a tournament's viewers: what they are told, once for all of them."""
