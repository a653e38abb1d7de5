"""`python -m workers`: one Celery worker with this machine's slots."""

import os
import sys
import warnings

from celery.exceptions import SecurityWarning

from podracer_core.errors import PodracerError


def main() -> int:
    """Run until told to stop. Returns the exit code."""
    try:
        from workers.machine import machine

        here = machine()
        os.environ.setdefault("DJANGO_SETTINGS_MODULE", "webapp.settings")
        from webapp.tournaments.dispatch import node_name, queue_name
        from workers.celery import app
    except PodracerError as error:
        print(error, file=sys.stderr)
        return 2
    # `make run` as root is its user's choice, and messages carry no content that could be unpickled.
    warnings.filterwarnings("ignore", category=SecurityWarning)
    app.worker_main(
        [
            "--quiet",
            "worker",
            "--pool=threads",
            f"--concurrency={here.slots}",
            f"--queues={queue_name(here.device_kind)}",
            f"--hostname={node_name(here.name)}",
            "--loglevel=WARNING",
            "--without-gossip",
            "--without-mingle",
        ]
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
