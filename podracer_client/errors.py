"""What can go wrong between a program and a Podracer."""

import json
from typing import Any


class ClientError(Exception):
    """The root of this package's errors; the text is for a person."""


class ConnectionLostError(ClientError):
    """Nothing answered, or not to the end."""


class ApiError(ClientError):
    """Podracer refused.

    status: of HTTP; errors: (field, message) pairs, the field a dotted path or "" where the whole is meant
    """

    def __init__(self, status: int, errors: list[tuple[str, str]]) -> None:
        self.status, self.errors = status, errors
        super().__init__("\n".join(f"{field}: {message}" if field else message for field, message in errors))

    @classmethod
    def read(cls, status: int, body: bytes) -> "ApiError":
        """From an answer: `{"errors": [...]}`, or `{"detail": ...}` of who is not let in."""
        try:
            return cls(status, _errors(json.loads(body)))
        except (ValueError, KeyError, TypeError):
            return cls(status, [("", f"It answered {status}: {body[:200].decode(errors='replace') or 'nothing'}")])


def _errors(answer: Any) -> list[tuple[str, str]]:
    if "detail" in answer:
        return [("", str(answer["detail"]))]
    return [(str(error["field"]), str(error["message"])) for error in answer["errors"]]
