"""Failed sign-ins are counted by address and by account; too many make both wait."""

from datetime import timedelta

from django.utils import timezone

from webapp.accounts.models import SignInFailure

WINDOW = timedelta(minutes=5)
ADDRESS_LIMIT = 10
ACCOUNT_LIMIT = 20
"""Higher than the address's: who guesses from many addresses is slowed, who mistypes is not shut out."""


def wait_needed(address: str, account: str) -> timedelta:
    """How long until a further attempt from `address` on `account` is looked at; zero when now."""
    return max(_wait(f"address {address}", ADDRESS_LIMIT), _wait(_account_key(account), ACCOUNT_LIMIT))


def failure_record(address: str, account: str) -> None:
    """Count one failure, and forget those that no longer matter."""
    now = timezone.now()
    SignInFailure.objects.filter(at__lt=now - WINDOW).delete()
    SignInFailure.objects.bulk_create(
        [SignInFailure(key=key, at=now) for key in (f"address {address}"[:200], _account_key(account))]
    )


def failures_forget(address: str, account: str) -> None:
    """A sign-in that worked clears the slate."""
    SignInFailure.objects.filter(key__in=[f"address {address}"[:200], _account_key(account)]).delete()


def _wait(key: str, limit: int) -> timedelta:
    since = timezone.now() - WINDOW
    failures = SignInFailure.objects.filter(key=key[:200], at__gt=since).order_by("-at")
    times = list(failures.values_list("at", flat=True)[:limit])
    return times[-1] - since if len(times) == limit else timedelta(0)


def _account_key(account: str) -> str:
    return f"account {account.lower()}"[:200]
