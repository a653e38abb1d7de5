"""The owner and their token file, API tokens, one-time links."""

import stat
from datetime import timedelta
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from webapp.accounts import services
from webapp.accounts.models import ApiToken, SignInLink

pytestmark = pytest.mark.django_db


def token_user(text: str) -> User | None:
    """Whose valid token this is."""
    try:
        return services.api_token_check(text).user
    except services.TokenRefusedError:
        return None


@pytest.fixture
def token_file(tmp_path: Path) -> Path:
    return tmp_path / "owner-token"


def test_owner_is_made_once_with_a_working_token_in_a_closed_file(token_file: Path) -> None:
    owner = services.owner_ensure(token_file)
    again = services.owner_ensure(token_file)
    assert owner == again
    assert not owner.is_superuser
    assert not owner.has_usable_password()
    assert stat.S_IMODE(token_file.stat().st_mode) == 0o600
    assert token_user(token_file.read_text().strip()) == owner
    assert ApiToken.objects.count() == 1


def test_a_valid_token_file_is_kept_and_closed_again(token_file: Path) -> None:
    services.owner_ensure(token_file)
    before = token_file.read_text()
    token_file.chmod(0o644)
    services.owner_ensure(token_file)
    assert token_file.read_text() == before
    assert stat.S_IMODE(token_file.stat().st_mode) == 0o600


@pytest.mark.parametrize("content", ["", "podracer_of-another-database\n", "\x00\xff"])
def test_a_file_without_a_valid_token_is_replaced(token_file: Path, content: str) -> None:
    token_file.write_bytes(content.encode("latin1"))
    owner = services.owner_ensure(token_file)
    assert token_user(token_file.read_text().strip()) == owner


def test_losing_the_file_revokes_the_lost_token(token_file: Path) -> None:
    services.owner_ensure(token_file)
    lost = token_file.read_text().strip()
    token_file.unlink()
    services.owner_ensure(token_file)
    assert token_user(lost) is None


def test_rotation_revokes_the_old_token_and_leaves_the_others(token_file: Path) -> None:
    owner = services.owner_ensure(token_file)
    _, other = services.api_token_create(user=owner, name="notebook")
    old = token_file.read_text().strip()
    services.owner_token_rotate(token_file)
    assert token_user(old) is None
    assert token_user(token_file.read_text().strip()) == owner
    assert token_user(other) == owner


def test_tokens_are_kept_as_hashes_only(token_file: Path) -> None:
    owner = services.owner_ensure(token_file)
    token, text = services.api_token_create(user=owner, name="notebook")
    values = {str(value) for value in ApiToken.objects.filter(pk=token.pk).values()[0].values()}
    assert text not in values
    assert token.prefix == text[: len(token.prefix)]
    assert len(text) > len(token.prefix) + 30


@pytest.mark.parametrize("name", ["", "  ", "x" * 81, "a\x07b"])
def test_a_token_needs_a_name_that_can_be_shown(name: str) -> None:
    user = User.objects.create_user("someone")
    with pytest.raises(services.AccountError, match="1 to 80 characters"):
        services.api_token_create(user=user, name=name)


def test_tokens_of_a_closed_account_are_refused() -> None:
    user = User.objects.create_user("someone")
    _, text = services.api_token_create(user=user, name="notebook")
    assert token_user(text) == user
    User.objects.filter(pk=user.pk).update(is_active=False)
    assert token_user(text) is None


def test_use_of_a_token_is_noted() -> None:
    user = User.objects.create_user("someone")
    token, text = services.api_token_create(user=user, name="notebook")
    token_user(text)
    token.refresh_from_db()
    assert token.last_used_at is not None


def _secret(url: str) -> str:
    return url.rstrip("/").rpartition("/")[2]


def test_a_link_signs_in_once() -> None:
    user = User.objects.create_user("someone")
    url = services.sign_in_link_create(user, "http://127.0.0.1:8000/")
    assert url.startswith("http://127.0.0.1:8000/sign-in/link/")
    assert services.sign_in_link_consume(_secret(url)) == user
    assert services.sign_in_link_consume(_secret(url)) is None


def test_a_link_expires() -> None:
    user = User.objects.create_user("someone")
    url = services.sign_in_link_create(user, "http://host")
    SignInLink.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    assert services.sign_in_link_consume(_secret(url)) is None


def test_links_are_kept_as_hashes_and_forgotten_after_use() -> None:
    user = User.objects.create_user("someone")
    first = services.sign_in_link_create(user, "http://host")
    assert SignInLink.objects.filter(token_hash=_secret(first)).count() == 0
    services.sign_in_link_consume(_secret(first))
    services.sign_in_link_create(user, "http://host")
    assert SignInLink.objects.count() == 1


def test_the_owners_password_is_checked_before_it_is_set() -> None:
    with pytest.raises(services.AccountError, match="too short"):
        services.owner_password_set("abc")
    owner = services.owner_password_set("a long sentence to remember")
    assert owner.check_password("a long sentence to remember")
