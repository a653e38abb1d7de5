"""Podracer measured against other libraries: `python -m benchmarks.peers --help`, results in docs/benchmarks.md."""
