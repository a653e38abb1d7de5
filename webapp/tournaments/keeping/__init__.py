"""What takes space, and how it is freed."""
