"""Frames of messages as they come from the socket, read once for all viewers of a process.

What viewers are told differs only in how each counts its messages. A browser reads its own frames on its own machine;
here 200 share two cores with the server that is measured.
"""

import json
import re
from typing import Any

Message = dict[str, Any]

NUMBER = re.compile(r'\{"seq":([0-9]+),')
"""Where a message begins. In a string the quotes would be escaped."""

KEPT = 1000


class Frames:
    """Curves, which nobody changes, are read once; all else by each viewer for itself."""

    def __init__(self) -> None:
        self._curves: dict[str, Message] = {}

    def read(self, text: str) -> list[tuple[int, Message]]:
        """The messages of a frame, each with its number."""
        _, *parts = NUMBER.split(text)
        numbers, bodies = map(int, parts[::2]), [part[:-1] for part in parts[1::2]]
        return [(number, self._message(body)) for number, body in zip(numbers, bodies, strict=True)]

    def _message(self, body: str) -> Message:
        known = self._curves.get(body)
        if known is not None:
            return known
        message: Message = json.loads(f"{{{body}")
        if message["type"] == "curve":
            message["data"]["ages"] = _ages(message["data"]["seconds"])
            if len(self._curves) >= KEPT:
                self._curves.clear()
            self._curves[body] = message
        return message


def _ages(seconds: list[float]) -> list[int]:
    """By how many milliseconds each point left its pod before the newest."""
    return [round(1000 * (seconds[-1] - one)) for one in seconds]
