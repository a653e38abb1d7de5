"""The Celery application. Started by `python -m workers`; the Celery side never trains and loads no torch."""

import os
import signal
from types import FrameType
from typing import Any

import django
from celery import Celery, bootsteps

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "webapp.settings")
django.setup()

from django.conf import settings  # noqa: E402 - Django's settings exist only after setup

app = Celery("podracer", broker=settings.REDIS_URL, include=["workers.tasks"])
app.conf.update(
    task_ignore_result=True,
    # A message is a doorbell: heard by a slot that is free, never kept by a worker that is busy.
    worker_disable_prefetch=True,
    worker_prefetch_multiplier=1,
    broker_connection_retry=True,
    broker_connection_retry_on_startup=True,
    broker_connection_max_retries=None,
    worker_cancel_long_running_tasks_on_connection_loss=False,
    broker_transport_options={"socket_keepalive": True, "health_check_interval": 10},
    worker_hijack_root_logger=False,
    worker_redirect_stdouts=False,
    worker_send_task_events=False,
    timezone="UTC",
)


class OneSignalAtATime(bootsteps.StartStopStep):  # type: ignore[misc]
    """A signal that comes while another is handled is not: the other stops this worker anyhow.

    As of Celery 5.7 the handler takes a lock (in celery.utils.dispatch) that a second one would wait for, within it,
    for ever. They come at once where the process that started this worker is killed (see webapp.stop_signals).
    """

    def start(self, parent: Any) -> None:
        handling = False

        def guarded(handle: Any) -> Any:
            def handle_alone(number: int, frame: FrameType | None) -> None:
                nonlocal handling
                if handling:
                    return
                handling = True
                try:
                    handle(number, frame)
                finally:
                    handling = False

            return handle_alone

        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, guarded(signal.getsignal(number)))


app.steps["worker"].add(OneSignalAtATime)
