"""What is posted to a webhook: a small JSON document, and headers that prove who sent it. docs/notifications.md."""

import hashlib
import hmac
import html
from typing import Any

from webapp.tournaments import strict_json
from webapp.tournaments.models import Delivery, Tournament, Webhook

TEST_TEXT = "This is a test from Podracer: notifications of your tournaments will arrive here."


def body_of(delivery: Delivery) -> bytes:
    """With the tournament as it is when this is sent."""
    notice, site = delivery.notice, delivery.webhook.site
    data: dict[str, Any]
    if notice is None:
        data = {"event": "test", "at": delivery.created_at.isoformat(), "text": TEST_TEXT, "tournament": None}
    else:
        of = notice.tournament
        url = site.rstrip("/") + (f"/tournaments/{of.pk}/" if of else "/storage/")
        data = {
            "event": notice.kind,
            "at": notice.at.isoformat(),
            "text": f"{harmless(notice.text)} {url}",
            "tournament": _tournament(of, url) if of else None,
        }
    return strict_json.dumps({"id": str(delivery.key), **data}).encode()


def _tournament(tournament: Tournament, url: str) -> dict[str, Any]:
    return {
        "id": str(tournament.pk),
        "name": tournament.name,
        "env_id": tournament.env_id,
        "status": tournament.status,
        "reason": tournament.reason,
        "url": url,
    }


def harmless(text: str) -> str:
    """`text` for a chat: a tournament's name must neither become markup nor call everybody in the room."""
    return html.escape(text, quote=False).replace("@", "@\N{ZERO WIDTH SPACE}")


def headers_of(delivery: Delivery, body: bytes, timestamp: int) -> dict[str, str]:
    return {
        "Content-Type": "application/json",
        "User-Agent": "Podracer",
        "X-Podracer-Event": delivery.notice.kind if delivery.notice else "test",
        "X-Podracer-Delivery": str(delivery.key),
        "X-Podracer-Timestamp": str(timestamp),
        "X-Podracer-Signature": signature(delivery.webhook, body, timestamp),
    }


def signature(webhook: Webhook, body: bytes, timestamp: int) -> str:
    """Of time and body together, so that an old message cannot be sent again as a new one."""
    signed = f"{timestamp}.".encode() + body
    return "sha256=" + hmac.new(webhook.secret.encode(), signed, hashlib.sha256).hexdigest()
