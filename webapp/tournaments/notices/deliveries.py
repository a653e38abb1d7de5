"""Brings notices to webhooks, beside the scheduler's sweeps: at least once each, with the same key every time.

A delivery is claimed for a while, posted with no transaction open, and then written down by whoever still holds it. So
several schedulers may do this at once, and one that is killed loses nothing.
"""

import logging
import threading
import time
from collections.abc import Iterable
from datetime import timedelta

from django.db import InterfaceError, OperationalError, close_old_connections, connection, transaction
from django.db.models import F
from django.db.models.functions import Now

from webapp.accounts.access import Actor, actor_of
from webapp.tournaments import access
from webapp.tournaments.models import Delivery, Notice, Tournament, Webhook
from webapp.tournaments.notices import webhook_message
from webapp.tournaments.notices.webhook_post import LONGEST_SECONDS, Answer, Post

logger = logging.getLogger(__name__)

ROUND_SECONDS = 1.0

BATCH = 8
"""Deliveries that are posted at once."""

CLAIM = timedelta(seconds=6 * LONGEST_SECONDS)
"""After so long a claimed delivery is taken to be lost, and posted again."""

WAITS = (
    timedelta(seconds=10),
    timedelta(minutes=1),
    timedelta(minutes=5),
    timedelta(minutes=30),
    timedelta(hours=2),
)
"""Before each further attempt; after the last the delivery is given up."""

MOST_FAILURES = 3
"""Deliveries given up one after another before a webhook is switched off."""

KEPT = timedelta(days=90)
"""How long notices and deliveries are kept."""

Status = Delivery.Status


def run(stopping: threading.Event) -> None:
    """The loop of the scheduler's thread."""
    forgotten_at = time.monotonic()
    while not stopping.is_set():
        sent = 0
        try:
            fan_out()
            sent = deliver_due()
            if time.monotonic() - forgotten_at > 3600:
                forgotten_at = time.monotonic()
                forget()
        except (OperationalError, InterfaceError) as error:
            logger.warning("the database is away, trying again: %s", str(error).strip())
            close_old_connections()
        except Exception:
            # One that cannot be sent must not end all sending; its claim runs out, and it is tried again.
            logger.exception("notices could not be brought to webhooks")
        if not sent:
            stopping.wait(ROUND_SECONDS)
    connection.close()


# From notices to deliveries


def fan_out() -> int:
    """Make the deliveries of new notices, to webhooks whose owners may see what they are of. Returns how many."""
    with transaction.atomic():
        notices = list(Notice.objects.select_for_update(skip_locked=True).filter(told=False).order_by("pk")[:100])
        if not notices:
            return 0
        made = Delivery.objects.bulk_create(_deliveries(notices))
        Notice.objects.filter(pk__in=[notice.pk for notice in notices]).update(told=True)
    return len(made)


def _deliveries(notices: list[Notice]) -> Iterable[Delivery]:
    tournaments = {notice.tournament_id for notice in notices if notice.tournament_id}
    seen: dict[int, set[int | None]] = {}
    for webhook in Webhook.objects.filter(disabled_at=None, owner__is_active=True).select_related("owner"):
        if webhook.owner_id not in seen:
            seen[webhook.owner_id] = _seen(actor_of(webhook.owner), tournaments)
        for notice in notices:
            if notice.kind in webhook.kinds and notice.tournament_id in seen[webhook.owner_id]:
                yield Delivery(webhook=webhook, notice=notice, due_at=Now())


def _seen(actor: Actor, tournaments: set[int]) -> set[int | None]:
    """Those of `tournaments` that `actor` may see; None where they hear of what all depend on."""
    found = Tournament.objects.filter(access.visible(actor), pk__in=tournaments).values_list("pk", flat=True)
    return {*found, *([None] if actor.sees_all else [])}


# From deliveries to receivers


def deliver_due() -> int:
    """Post what is due, as far as it goes at once. Returns how many."""
    claimed = _claim()
    posts = [(delivery, _post(delivery)) for delivery in claimed]
    for delivery, post in posts:
        _write_down(delivery, post.wait() if isinstance(post, Post) else post)
    return len(claimed)


def _claim() -> list[Delivery]:
    with transaction.atomic():
        due = list(
            Delivery.objects.select_for_update(skip_locked=True, of=("self",))
            .filter(status=Status.QUEUED, due_at__lte=Now())
            .select_related("webhook__owner", "notice__tournament")
            .order_by("due_at", "pk")[:BATCH]
        )
        held = Delivery.objects.filter(pk__in=[delivery.pk for delivery in due])
        held.update(attempts=F("attempts") + 1, due_at=Now() + CLAIM, tried_at=Now())
    for delivery in due:
        delivery.attempts += 1
    return due


def _post(delivery: Delivery) -> Post | Answer:
    """Begin to post, unless its owner has lost what it takes since it was queued."""
    actor = actor_of(delivery.webhook.owner)
    if problem := _problem(delivery, actor):
        return Answer(False, problem, final=True)
    body = webhook_message.body_of(delivery)
    headers = webhook_message.headers_of(delivery, body, int(time.time()))
    return Post(delivery.webhook.url, body, headers, private_allowed=actor.administers)


def _problem(delivery: Delivery, actor: Actor) -> str:
    if not delivery.webhook.owner.is_active:
        return "Not sent: the account is closed."
    if delivery.notice is None:
        return ""
    tournament_id = delivery.notice.tournament_id
    if tournament_id is None:
        return "" if actor.sees_all else "Not sent: you are no admin any more."
    return "" if access.sees(actor, tournament_id) else "Not sent: the tournament is not shared with you any more."


def _write_down(delivery: Delivery, answer: Answer) -> None:
    """What came of an attempt, unless somebody else has taken the delivery over, or the webhook is gone."""
    with transaction.atomic():
        # The webhook first, as everybody who locks both.
        webhook = Webhook.objects.select_for_update().filter(pk=delivery.webhook_id).first()
        held = Delivery.objects.select_for_update().filter(
            pk=delivery.pk, attempts=delivery.attempts, status=Status.QUEUED
        )
        row = held.first()
        if webhook is None or row is None:
            return
        row.result = answer.text
        if answer.ok:
            row.status = Status.DELIVERED
            webhook.failures = 0
        elif row.notice_id is None or answer.final or row.attempts > len(WAITS):
            row.status = Status.FAILED
            webhook.failures += row.notice_id is not None
        else:
            row.due_at = Now() + WAITS[row.attempts - 1]
        row.save(update_fields=["status", "result", "due_at"])
        webhook.save(update_fields=["failures"])
        if webhook.failures >= MOST_FAILURES and webhook.disabled_at is None:
            _disable(webhook, answer)


def _disable(webhook: Webhook, answer: Answer) -> None:
    webhook.disabled_at = Now()
    webhook.disabled_reason = (
        f"Switched off, because {webhook.failures} notifications in a row did not arrive. The last time: {answer.text}"
    )
    webhook.save(update_fields=["disabled_at", "disabled_reason"])
    waiting = webhook.deliveries.filter(status=Status.QUEUED, notice__isnull=False)
    waiting.update(status=Status.FAILED, result="Not sent: the webhook was switched off.")


def forget() -> None:
    """Delete what is older than it is kept."""
    Delivery.objects.filter(created_at__lt=Now() - KEPT).delete()
    Notice.objects.filter(at__lt=Now() - KEPT).delete()
