"""A tournament's messages as they come, through lost connections."""

import json
import time
from collections.abc import Iterator
from typing import cast

from podracer_client.answers import Message
from podracer_client.errors import ApiError, ClientError

REFUSALS = {4401: "This API token is not valid, or no longer.", 4403: "This API token may not look at it."}
MISSING = 4404
TOGETHER = "podracer.together"
"""The WebSocket subprotocol in which a frame is an array of messages."""

SILENCE_SECONDS = 15.0
"""After which the server is taken for lost: when nothing happens it says so about every five seconds."""

HEARTBEAT = "heartbeat"
WAITS = (0.2, 0.5, 1.0, 2.0, 5.0)


def messages(url: str, token: str, tournament_id: str) -> Iterator[Message]:
    """A snapshot, then what changes; a lost connection begins with a snapshot again.

    Ends where the tournament was deleted. Raises ApiError where it may not be seen or is not there.
    """
    try:
        from websockets.exceptions import ConnectionClosed, InvalidHandshake
        from websockets.sync.client import connect
        from websockets.typing import Subprotocol
    except ImportError:
        raise ClientError("Watching needs the package websockets: pip install websockets") from None
    address = f"ws{url.removeprefix('http')}/ws/tournaments/{tournament_id}/"
    headers, together = {"Authorization": f"Bearer {token}"}, [Subprotocol(TOGETHER)]
    seen, failures = False, 0
    while True:
        try:
            with connect(address, additional_headers=headers, subprotocols=together, max_size=None) as socket:
                while True:
                    text = socket.recv(SILENCE_SECONDS)
                    seen, failures = True, 0
                    said = json.loads(text)
                    # A proxy may drop the subprotocol, and then each message is a frame.
                    told = cast(list[Message], said if socket.subprotocol == TOGETHER else [said])
                    yield from (message for message in told if message["type"] != HEARTBEAT)
        except (OSError, InvalidHandshake, TimeoutError, ConnectionClosed) as error:
            code = error.rcvd.code if isinstance(error, ConnectionClosed) and error.rcvd else 0
            if code in REFUSALS:
                raise ApiError(401, [("", REFUSALS[code])]) from None
            if code == MISSING:
                if seen:
                    return
                raise ApiError(404, [("", f"There is no tournament {tournament_id}.")]) from None
        time.sleep(WAITS[min(failures, len(WAITS) - 1)])
        failures += 1
