"""Webhooks are made, tested, switched on again and deleted here, by the person whose they are."""

import secrets

from django.db import transaction
from django.db.models.functions import Now

from podracer_core.errors import SpecError
from webapp.accounts import audit
from webapp.accounts.access import Actor
from webapp.tournaments.models import Delivery, Notice, Webhook
from webapp.tournaments.notices.webhook_address import AddressError, address_parse, check_written

MOST_WEBHOOKS = 20
"""Of one person."""


def webhook_create(*, actor: Actor, name: str, url: str, kinds: list[str], site: str) -> Webhook:
    """A webhook, whose secret is shown now and never again. Raises SpecError.

    site: the dashboard's address as its owner knows it, for links
    """
    name = " ".join(name.split())
    host = _checked(actor, name, url, kinds)
    if actor.user is None or actor.user.webhooks.count() >= MOST_WEBHOOKS:
        raise SpecError([("name", f"a person has at most {MOST_WEBHOOKS} webhooks; delete one first")])
    with transaction.atomic():
        webhook = Webhook.objects.create(
            owner=actor.user,
            name=name,
            url=url,
            secret=secrets.token_urlsafe(32),
            kinds=[kind for kind in Notice.Kind.values if kind in kinds],
            site=site[:300],
        )
        # Not the whole address: with many chats it is the secret that lets one write there.
        audit.record("webhook_created", f"Made the webhook {name} to {host}.", actor=actor)
    return webhook


def _checked(actor: Actor, name: str, url: str, kinds: list[str]) -> str:
    """The address's host. Raises SpecError with all that is wrong."""
    errors, host = [], ""
    if not name or len(name) > 80 or not name.isprintable():
        errors.append(("name", "say in 1 to 80 characters where it leads"))
    try:
        address = address_parse(url)
        check_written(address, private_allowed=actor.administers)
        host = address.host
    except AddressError as error:
        errors.append(("url", str(error)))
    if unknown := [kind for kind in kinds if kind not in Notice.Kind.values]:
        errors.append(("events", f"there is no {unknown[0]!r}; there are {', '.join(Notice.Kind.values)}"))
    elif not kinds:
        errors.append(("events", f"name at least one of {', '.join(Notice.Kind.values)}"))
    if errors:
        raise SpecError(errors)
    return host


def webhook_test(*, actor: Actor, webhook_id: int) -> Delivery:
    """Have a test sent; it is tried once. Raises Webhook.DoesNotExist."""
    with transaction.atomic():
        webhook = _locked(actor, webhook_id)
        waiting = webhook.deliveries.filter(notice=None, status=Delivery.Status.QUEUED).first()
        return waiting or Delivery.objects.create(webhook=webhook, due_at=Now())


def webhook_enable(*, actor: Actor, webhook_id: int) -> None:
    """Switch a webhook on again. Raises Webhook.DoesNotExist."""
    with transaction.atomic():
        webhook = _locked(actor, webhook_id)
        webhook.failures, webhook.disabled_at, webhook.disabled_reason = 0, None, ""
        webhook.save(update_fields=["failures", "disabled_at", "disabled_reason"])
        audit.record("webhook_enabled", f"Switched the webhook {webhook.name} on again.", actor=actor)


def webhook_delete(*, actor: Actor, webhook_id: int) -> None:
    """What was not sent yet is not sent. Raises Webhook.DoesNotExist."""
    with transaction.atomic():
        webhook = _locked(actor, webhook_id)
        audit.record("webhook_deleted", f"Deleted the webhook {webhook.name}.", actor=actor)
        webhook.delete()


def _locked(actor: Actor, webhook_id: int) -> Webhook:
    found = Webhook.objects.select_for_update().filter(owner=actor.user, pk=webhook_id).first()
    if found is None:
        raise Webhook.DoesNotExist(f"You have no webhook {webhook_id}.")
    return found
