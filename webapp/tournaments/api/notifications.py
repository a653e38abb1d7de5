"""What happened to tournaments that somebody should hear of, and the webhooks that tell it."""

from django.http import HttpRequest, HttpResponse
from ninja import Router
from pydantic import BaseModel, ConfigDict, Field

from podracer_core.errors import SpecError
from webapp.accounts.access import request_actor, request_user
from webapp.tournaments import schemas
from webapp.tournaments.api import common
from webapp.tournaments.models import Webhook
from webapp.tournaments.notices import selectors as notice_selectors
from webapp.tournaments.notices import webhooks
from webapp.tournaments.schemas import Limit, Offset

router = Router()


class _Body(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class NoticeOut(_Body):
    """`kind`: ended, failed or trouble; `mine`: whether the tournament is yours. Without a tournament it is of what all
    depend on, the disk, and for admins.
    """

    id: str
    at: str
    kind: str
    text: str
    tournament: str | None
    tournament_name: str | None
    mine: bool


class NoticePage(_Body):
    items: list[NoticeOut]
    count: int


class WebhookRequest(_Body):
    name: str = Field(description="where it leads, 1 to 80 characters")
    url: str = Field(description="https; of this machine or a private network only for admins")
    events: list[str] = Field(["ended", "failed", "trouble"], description="what it is told")


class DeliveryOut(_Body):
    """`status`: QUEUED (also between attempts), DELIVERED or FAILED; `result`: of the last attempt."""

    id: str
    test: bool
    status: str
    attempts: int
    result: str
    at: str


class WebhookOut(_Body):
    """`disabled`: why it was switched off, null while it is on."""

    id: str
    name: str
    url: str
    events: list[str]
    created_at: str
    disabled: str | None
    last_delivery: DeliveryOut | None


class WebhookPage(_Body):
    items: list[WebhookOut]
    count: int


class NewWebhook(WebhookOut):
    """`secret` signs what is sent; it is shown now and never again."""

    secret: str


@router.get("/notices", response=common.answers(NoticePage), summary="Tournaments that ended or are in trouble")
def notices(request: HttpRequest, since: str = "0", limit: Limit = 100, offset: Offset = 0) -> HttpResponse:
    """The newest first. `since`: only those after the notice with this id, of which none is ever missed."""
    number = common.id_read(since)
    if number is None:
        raise SpecError([("since", f"{since!r} is no id of a notice")])
    actor = request_actor(request)
    return common.answer(notice_selectors.notice_list(actor, since=number, limit=limit, offset=offset))


@router.get("/webhooks", response=common.answers(WebhookPage, 403), summary="Your webhooks")
def webhook_list(request: HttpRequest, limit: Limit = 100, offset: Offset = 0) -> HttpResponse:
    return common.answer(notice_selectors.webhook_list(request_user(request), limit=limit, offset=offset))


@router.post("/webhooks", response=common.answers(NewWebhook, 403, status=201), summary="Make a webhook")
def webhook_create(request: HttpRequest, wanted_webhook: WebhookRequest) -> HttpResponse:
    """What it is sent and how that is signed: docs/notifications.md."""
    made = webhooks.webhook_create(
        actor=request_actor(request),
        name=wanted_webhook.name,
        url=wanted_webhook.url,
        kinds=wanted_webhook.events,
        site=request.build_absolute_uri("/"),
    )
    return common.answer({**notice_selectors.webhook_item(made), "secret": made.secret}, 201)


def _id(text: str) -> int:
    number = common.id_read(text)
    if number is None:
        raise Webhook.DoesNotExist(f"You have no webhook {text!r}.")
    return number


@router.post(
    "/webhooks/{webhook_id}/test",
    response=common.answers(DeliveryOut, 403, 404, status=202),
    summary="Send a test, tried once",
)
def webhook_test(request: HttpRequest, webhook_id: str) -> HttpResponse:
    """What came of it is the webhook's `last_delivery` within seconds."""
    made = webhooks.webhook_test(actor=request_actor(request), webhook_id=_id(webhook_id))
    return common.answer(notice_selectors.delivery_item(made), 202)


@router.post(
    "/webhooks/{webhook_id}/enable",
    response={204: None, 403: schemas.Errors, 404: schemas.Errors},
    summary="Switch a webhook on again",
)
def webhook_enable(request: HttpRequest, webhook_id: str) -> HttpResponse:
    webhooks.webhook_enable(actor=request_actor(request), webhook_id=_id(webhook_id))
    return HttpResponse(status=204)


@router.delete(
    "/webhooks/{webhook_id}",
    response={204: None, 403: schemas.Errors, 404: schemas.Errors},
    summary="Delete a webhook; what was not sent yet is not sent",
)
def webhook_delete(request: HttpRequest, webhook_id: str) -> HttpResponse:
    webhooks.webhook_delete(actor=request_actor(request), webhook_id=_id(webhook_id))
    return HttpResponse(status=204)
