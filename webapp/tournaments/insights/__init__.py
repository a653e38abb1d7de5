"""What can be learned of a tournament beyond its leaderboard."""
