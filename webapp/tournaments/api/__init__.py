"""The REST API: guard, validate, one call, answer. Who may ask, and of what, is decided by webapp.guard."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from ninja import NinjaAPI, Router
from ninja.openapi.schema import OpenAPISchema
from ninja.parser import Parser
from ninja.security.http import HttpAuthBase

from webapp.tournaments import schemas, strict_json
from webapp.tournaments.api import (
    agents,
    artefacts,
    common,
    compare,
    curves,
    ensembles,
    insights,
    machines,
    notifications,
    refusals,
    retention,
    sharing,
    tournaments,
)


class SignedIn(HttpAuthBase):
    """Documents the bearer token, and has the documentation page send the CSRF token; the middleware did the rest."""

    openapi_scheme = "bearer"
    csrf = True

    def __call__(self, request: HttpRequest) -> Any:
        return request.user


class StrictParser(Parser):
    """Refuses NaN in request bodies."""

    def parse_body(self, request: HttpRequest) -> Any:
        return strict_json.loads(request.body)


class PodracerAPI(NinjaAPI):
    """The API with the specification's models in its documentation."""

    def get_openapi_schema(self, **kwargs: Any) -> OpenAPISchema:
        schema = super().get_openapi_schema(**kwargs)
        schema["components"]["schemas"].update(schemas.spec_components())
        return schema


api = PodracerAPI(
    title="Podracer",
    version="1",
    description="Train deep-RL agents by tournament.",
    parser=StrictParser(),
    auth=[SignedIn()],
)

refusals.install(api)

nowhere = Router()


@nowhere.api_operation(["GET", "POST", "PUT", "PATCH", "DELETE"], "/{path:rest}", include_in_schema=False)
def nothing(request: HttpRequest, rest: str) -> HttpResponse:
    return common.refusal(404, f"There is nothing at /api/{rest}; /api/docs lists what there is.")


for router, subject in (
    (tournaments.router, "Tournaments"),
    (agents.router, "Agents"),
    (artefacts.router, "Exports and replays"),
    (ensembles.router, "Ensembles"),
    (curves.router, "Curves"),
    (insights.router, "Insights"),
    (compare.router, "Comparison"),
    (machines.router, "Environments and workers"),
    (machines.operations, "Environments and workers"),
    (sharing.router, "Sharing"),
    (retention.router, "Disk space"),
    (notifications.router, "Notifications"),
    (nowhere, ""),
):
    api.add_router("", router, tags=[subject])
