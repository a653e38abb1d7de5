"""A policy as a few steps, and those steps as graphs of other runtimes."""
