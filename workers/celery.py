"""The Celery application. Started by `python -m workers`; the Celery side never trains and loads no torch."""

import os

import django
from celery import Celery

from workers.one_signal import OneSignalAtATime

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

app.steps["worker"].add(OneSignalAtATime)
