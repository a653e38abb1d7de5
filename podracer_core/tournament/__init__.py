"""The tournament's decisions: pure functions of their arguments, clock and random generator included."""
