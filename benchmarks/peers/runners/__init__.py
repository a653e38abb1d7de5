"""One module a participant, run by its own Python: `python -m benchmarks.peers.runners.NAME JOB`, JSON in and out."""
