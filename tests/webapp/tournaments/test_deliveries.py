"""Webhooks: what arrives at a receiver, what is tried again or given up, and where nothing is sent."""

import hashlib
import hmac
import ipaddress
import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import transaction
from django.db.models.functions import Now

from podracer_core.errors import SpecError
from tests.webapp import people
from tests.webapp.tournaments import making
from webapp.accounts.access import actor_of
from webapp.accounts.models import Role
from webapp.tournaments import services
from webapp.tournaments.models import Delivery, Notice, Tournament, Webhook
from webapp.tournaments.notices import deliveries, notices, webhook_post, webhooks
from webapp.tournaments.notices.webhook_address import (
    AddressError,
    Place,
    address_parse,
    check_written,
    place_of,
    resolve,
)

pytestmark = pytest.mark.django_db


@dataclass
class Receiver:
    """Answers with `statuses`, the last one for ever; 0 is no answer until `released`."""

    url: str
    statuses: list[int] = field(default_factory=lambda: [200])
    got: list[tuple[dict[str, str], bytes]] = field(default_factory=list)
    released: threading.Event = field(default_factory=threading.Event)


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    made = Receiver("")

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            made.got.append((dict(self.headers), body))
            status = made.statuses.pop(0) if len(made.statuses) > 1 else made.statuses[0]
            if status == 0:
                made.released.wait(10)
                return
            self.send_response(status)
            if status == 302:
                self.send_header("Location", made.url)
            self.end_headers()

        def log_message(self, *args: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        made.url = f"http://127.0.0.1:{server.server_port}/hook?key=1"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        yield made
        made.released.set()
        server.shutdown()
        thread.join()


def webhook(url: str, owner: User | None = None, *kinds: str) -> Webhook:
    return webhooks.webhook_create(
        actor=actor_of(owner or making.user()),
        name="chat",
        url=url,
        kinds=list(kinds) or Notice.Kind.values,
        site="http://podracer.example.org/",
    )


def ended(**parts: Any) -> Tournament:
    """A tournament that has just finished, told to nobody yet."""
    tournament = making.tournament(pool={"size": 1}, stop={"pods": 1}, **parts)
    making.finish(making.claim())
    return tournament


def again() -> int:
    """As if the wait before the next attempt were over."""
    Delivery.objects.update(due_at=Now())
    return deliveries.deliver_due()


def test_the_end_of_a_tournament_arrives_signed(receiver: Receiver) -> None:
    made = webhook(receiver.url)
    tournament = ended(name="<!channel> @all")
    assert not receiver.got
    assert (deliveries.fan_out(), deliveries.fan_out()) == (1, 0)
    assert (deliveries.deliver_due(), deliveries.deliver_due()) == (1, 0)
    ((headers, body),) = receiver.got
    signed = headers["X-Podracer-Timestamp"].encode() + b"." + body
    expected = hmac.new(made.secret.encode(), signed, hashlib.sha256).hexdigest()
    assert headers["X-Podracer-Signature"] == f"sha256={expected}"
    data = json.loads(body)
    assert headers["X-Podracer-Delivery"] == data["id"]
    assert headers["X-Podracer-Event"] == data["event"] == "ended"
    assert data["tournament"]["name"] == "<!channel> @all"
    assert data["tournament"]["status"] == "FINISHED"
    assert data["tournament"]["url"] == f"http://podracer.example.org/tournaments/{tournament.pk}/"
    assert data["text"].startswith("&lt;!channel&gt; @\u200ball has finished.")
    delivery = Delivery.objects.get()
    assert delivery.status == "DELIVERED"
    assert delivery.result.startswith("200 OK after")


def test_trouble_with_the_disk_arrives_at_admins_alone(receiver: Receiver) -> None:
    admin = people.person("vera", Role.ADMIN)
    webhook(receiver.url, admin)
    webhook("https://chat.example.org/", people.person("olga", Role.RUNNER))
    with transaction.atomic():
        notices.record_disk("The disk is nearly full.")
    assert (deliveries.fan_out(), deliveries.deliver_due()) == (1, 1)
    ((headers, body),) = receiver.got
    data = json.loads(body)
    assert (headers["X-Podracer-Event"], data["tournament"]) == ("trouble", None)
    assert data["text"] == "The disk is nearly full. http://podracer.example.org/storage/"
    with transaction.atomic():
        notices.record_disk("It is nearly full.")
    deliveries.fan_out()
    people.person("vera", Role.VIEWER)
    deliveries.deliver_due()
    assert Delivery.objects.order_by("pk").last().result == "Not sent: you are no admin any more."  # type: ignore[union-attr]
    assert len(receiver.got) == 1


def test_only_the_events_that_were_chosen_are_sent() -> None:
    webhook("https://chat.example.org/", None, "failed")
    ended()
    assert deliveries.fan_out() == 0
    assert not Notice.objects.filter(told=False).exists()


def test_what_does_not_arrive_is_tried_again_later_under_the_same_id(receiver: Receiver) -> None:
    made = webhook(receiver.url)
    receiver.statuses = [503, 200]
    ended()
    deliveries.fan_out()
    assert deliveries.deliver_due() == 1
    delivery = Delivery.objects.get()
    assert (delivery.status, delivery.result) == ("QUEUED", "Answered 503 Service Unavailable.")
    assert deliveries.deliver_due() == 0
    assert again() == 1
    delivery.refresh_from_db()
    assert (delivery.status, delivery.attempts) == ("DELIVERED", 2)
    keys = [headers["X-Podracer-Delivery"] for headers, _ in receiver.got]
    assert keys == [str(delivery.key)] * 2
    made.refresh_from_db()
    assert made.failures == 0


def test_a_webhook_that_never_takes_anything_is_switched_off_with_a_sentence_and_can_be_switched_on(
    receiver: Receiver,
) -> None:
    made = webhook(receiver.url)
    receiver.statuses = [302]
    for _ in range(deliveries.MOST_FAILURES):
        ended()
    ended(name="waits")
    assert deliveries.fan_out() == deliveries.MOST_FAILURES + 1
    last = Delivery.objects.order_by("-pk").first()
    assert last is not None
    for _ in range(len(deliveries.WAITS) + 1):
        Delivery.objects.exclude(pk=last.pk).filter(status="QUEUED").update(due_at=Now())
        Delivery.objects.filter(pk=last.pk).update(due_at=Now() + deliveries.WAITS[-1])
        deliveries.deliver_due()
    made.refresh_from_db()
    assert made.disabled_at is not None
    assert made.disabled_reason.startswith("Switched off, because 3 notifications in a row did not arrive.")
    assert "redirects are not followed" in made.disabled_reason
    assert set(Delivery.objects.values_list("status", flat=True)) == {"FAILED"}
    assert len(receiver.got) == 3 * (len(deliveries.WAITS) + 1)
    ended()
    assert deliveries.fan_out() == 0
    webhooks.webhook_enable(actor=actor_of(made.owner), webhook_id=made.pk)
    ended()
    assert deliveries.fan_out() == 1


def test_a_test_is_tried_once_and_charged_to_nobody(receiver: Receiver) -> None:
    made = webhook(receiver.url)
    receiver.statuses = [500, 204]
    for status in ("FAILED", "DELIVERED"):
        webhooks.webhook_test(actor=actor_of(made.owner), webhook_id=made.pk)
        assert deliveries.deliver_due() == 1
        newest = made.deliveries.order_by("-pk").first()
        assert newest is not None
        assert newest.status == status
    made.refresh_from_db()
    assert made.failures == 0
    assert json.loads(receiver.got[0][1])["event"] == "test"


def test_a_receiver_that_does_not_answer_is_cut_off(receiver: Receiver, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(webhook_post, "LONGEST_SECONDS", 0.2)
    webhook(receiver.url)
    receiver.statuses = [0]
    ended()
    deliveries.fan_out()
    assert deliveries.deliver_due() == 1
    assert Delivery.objects.get().result.startswith("No answer within")


def test_nothing_listens_is_said_so(receiver: Receiver) -> None:
    webhook("http://127.0.0.1:9/")
    ended()
    deliveries.fan_out()
    deliveries.deliver_due()
    assert Delivery.objects.get().result == "Nothing listens at 127.0.0.1:9."


def test_who_does_not_see_a_tournament_is_not_told_of_it(receiver: Receiver) -> None:
    stranger = people.person("stranger", Role.VIEWER)
    webhook("https://chat.example.org/", stranger)
    ended()
    assert deliveries.fan_out() == 0
    Tournament.objects.filter(pk=ended().pk).update(shared=True)
    assert deliveries.fan_out() == 1
    Tournament.objects.update(shared=False)
    assert deliveries.deliver_due() == 1
    delivery = Delivery.objects.get()
    assert delivery.status == "FAILED"
    assert delivery.result == "Not sent: the tournament is not shared with you any more."


def test_an_admin_who_is_one_no_more_reaches_no_private_address(receiver: Receiver) -> None:
    owner = people.person("ada", Role.ADMIN)
    webhook(receiver.url, owner)
    services.tournament_stop(tournament_id=making.tournament(owner=owner).pk)
    people.person("ada", Role.RUNNER)
    deliveries.fan_out()
    deliveries.deliver_due()
    assert receiver.got == []
    assert "which only admins may name" in Delivery.objects.get().result


@pytest.mark.parametrize(
    "url",
    [
        "https://127.0.0.1/",
        "https://[::1]/",
        "https://[::ffff:10.0.0.1]/",
        "https://10.1.2.3/hook",
        "https://localhost/",
        "https://wiki/",
        "https://db.internal/",
        "http://chat.example.org/",
        "http://93.184.215.14/",
        "https://user:pass@chat.example.org/",
        "ftp://chat.example.org/",
        "https://chat.example.org:0/",
        "https://chat.example.org/a b",
        "https://chat.example.org/\r\nX: y",
        "https:///nowhere",
        "https://169.254.169.254/latest/meta-data/",
    ],
)
def test_an_address_that_is_not_everybodys_is_refused(url: str) -> None:
    with pytest.raises(SpecError, match="url: "):
        webhook(url, people.person("vera", Role.VIEWER))


@pytest.mark.parametrize("url", ["https://0.0.0.0/", "https://169.254.169.254/", "http://93.184.215.14/"])
def test_some_addresses_are_nobodys(url: str) -> None:
    with pytest.raises(SpecError, match="url: "):
        webhook(url)


@pytest.mark.parametrize("host", ["localhost", "127.1", "0x7f.1", "2130706433"])
def test_a_name_is_judged_by_what_it_leads_to(host: str) -> None:
    with pytest.raises(AddressError, match="only admins may name"):
        resolve(address_parse(f"https://{host}/"), private_allowed=False)
    assert "127.0.0.1" in resolve(address_parse(f"http://{host}/"), private_allowed=True)


def test_public_addresses_are_everybodys_over_https() -> None:
    for url in ("https://chat.example.org/hooks/abc?x=1", "https://93.184.215.14:8443/", "https://[2606:2800:21f::1]/"):
        check_written(address_parse(url), private_allowed=False)


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("8.8.8.8", Place.PUBLIC),
        ("64:ff9b::8.8.8.8", Place.PUBLIC),
        ("64:ff9b::10.0.0.1", Place.PRIVATE),
        ("2002:7f00:1::", Place.PRIVATE),
        ("100.64.0.1", Place.PRIVATE),
        ("fd00::1", Place.PRIVATE),
        ("::", Place.NOBODYS),
        ("fe80::1", Place.NOBODYS),
        ("224.0.0.1", Place.NOBODYS),
    ],
)
def test_where_an_ip_address_is(text: str, place: Place) -> None:
    assert place_of(ipaddress.ip_address(text)) is place


def test_a_person_has_so_many_webhooks_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(webhooks, "MOST_WEBHOOKS", 1)
    webhook("https://chat.example.org/")
    with pytest.raises(SpecError, match="at most 1 webhooks"):
        webhook("https://chat.example.org/")
