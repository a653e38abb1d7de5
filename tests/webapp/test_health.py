"""Liveness, readiness and the numbers."""

import pytest
from django.test import Client
from pytest_django.fixtures import Settings


def test_liveness_needs_no_database(client: Client) -> None:
    response = client.get("/healthz")
    assert (response.status_code, response.json()) == (200, {"status": "ok"})


@pytest.mark.django_db
def test_readiness_says_that_database_broker_and_storage_work(client: Client) -> None:
    response = client.get("/readyz")
    assert response.status_code == 200
    assert response.json()["checks"] == {"database": "ok", "broker": "ok", "storage": "ok"}


@pytest.mark.django_db
def test_readiness_names_the_broker_that_does_not_answer(client: Client, settings: Settings) -> None:
    settings.REDIS_URL = "redis://127.0.0.1:1/0"
    response = client.get("/readyz")
    assert response.status_code == 503
    assert "127.0.0.1:1" in response.json()["checks"]["broker"]
    assert response.json()["checks"]["database"] == "ok"
