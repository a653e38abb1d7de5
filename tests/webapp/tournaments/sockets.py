"""A WebSocket client of an ASGI application in this process. (channels.testing has one, but wants daphne.)"""

from typing import Any

from asgiref.testing import ApplicationCommunicator


class Socket:
    """Speaks the websocket messages of ASGI with `application`."""

    def __init__(self, application: Any, path: str, headers: list[tuple[bytes, bytes]]) -> None:
        scope = {"type": "websocket", "path": path, "query_string": b"", "headers": headers, "subprotocols": []}
        communicator: Any = ApplicationCommunicator
        self._app = communicator(application, scope)

    async def connect(self, timeout: float = 5) -> bool:
        """Whether the handshake is accepted."""
        await self._app.send_input({"type": "websocket.connect"})
        return bool((await self._app.receive_output(timeout))["type"] == "websocket.accept")

    async def text(self, timeout: float = 5) -> str:
        """The next text; fails where the socket is closed instead."""
        output = await self._app.receive_output(timeout)
        assert output["type"] == "websocket.send", output
        return str(output["text"])

    async def close_code(self, timeout: float = 5) -> int:
        """The code with which the application closes; texts before it are skipped."""
        while (output := await self._app.receive_output(timeout))["type"] != "websocket.close":
            pass
        return int(output.get("code", 1000))

    async def disconnect(self, timeout: float = 5) -> None:
        await self._app.send_input({"type": "websocket.disconnect", "code": 1005})
        await self._app.wait(timeout)
