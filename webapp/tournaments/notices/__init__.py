"""That a tournament ends or is in trouble: noticed, written down, and told by webhook."""
