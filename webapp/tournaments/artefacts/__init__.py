"""What workers make of checkpoints: exports, replays and ensembles."""
