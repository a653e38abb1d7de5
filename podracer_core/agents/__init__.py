"""The algorithms, one file each, and what they share: networks, policies, returns, buffers, normalisers."""
