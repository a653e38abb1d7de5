"""Who sees a tournament."""
