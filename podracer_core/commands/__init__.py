"""The commands of `python -m podracer_core`, one file each: `add_arguments(parser)`, and `run(options)` to a status."""
