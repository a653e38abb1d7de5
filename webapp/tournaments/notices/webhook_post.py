"""One POST to a webhook: to an address that was checked, following no redirect, given up in time."""

import contextlib
import http.client
import socket
import ssl
import threading
import time
from dataclasses import dataclass
from http import HTTPStatus

from webapp.tournaments.notices.webhook_address import Address, AddressError, address_parse, resolve

SILENCE_SECONDS = 5.0
"""How long a receiver may say nothing."""

LONGEST_SECONDS = 10.0
"""How long all of it may take."""

LATE = f"No answer within {LONGEST_SECONDS:.0f} seconds."


@dataclass(frozen=True)
class Answer:
    """How it went, in a sentence; final: trying again cannot help."""

    ok: bool
    text: str
    final: bool = False


class Post:
    """Runs in a thread of its own, so that many go at once and none holds up the others."""

    def __init__(self, url: str, body: bytes, headers: dict[str, str], *, private_allowed: bool) -> None:
        self._url, self._body, self._headers = url, body, headers
        self._private_allowed = private_allowed
        self._answer = Answer(False, LATE)
        self._socket: socket.socket | None = None
        self._began = time.monotonic()
        self._thread = threading.Thread(target=self._run, name="webhook", daemon=True)
        self._thread.start()

    def wait(self) -> Answer:
        """The answer; one that is late is cut off."""
        self._thread.join(max(0.0, self._began + LONGEST_SECONDS - time.monotonic()))
        if self._thread.is_alive():
            with contextlib.suppress(OSError):
                if self._socket:
                    self._socket.shutdown(socket.SHUT_RDWR)
            return Answer(False, LATE)
        return self._answer

    def _run(self) -> None:
        try:
            address = address_parse(self._url)
            try:
                self._answer = self._send(address)
            except (OSError, http.client.HTTPException) as error:
                self._answer = Answer(False, _sentence(address, error))
        except AddressError as error:
            self._answer = Answer(False, f"Not sent: {error}.", final=True)

    def _send(self, address: Address) -> Answer:
        found = resolve(address, private_allowed=self._private_allowed)
        kind = http.client.HTTPSConnection if address.scheme == "https" else http.client.HTTPConnection
        connection = kind(address.host, address.port, timeout=SILENCE_SECONDS)
        with contextlib.closing(connection):
            # Connected here, to what was checked: a second look-up of the name might lead elsewhere.
            connection.sock = self._connect(address, found)
            connection.request("POST", address.target, self._body, self._headers)
            with connection.getresponse() as response:
                return _answer(response.status, time.monotonic() - self._began)

    def _connect(self, address: Address, found: list[str]) -> socket.socket:
        """To the first of the IP addresses that lets us. Raises the last one's OSError."""
        *others, last = found
        for ip in others:
            with contextlib.suppress(OSError):
                return self._open(address, ip)
        return self._open(address, last)

    def _open(self, address: Address, ip: str) -> socket.socket:
        plain = socket.create_connection((ip, address.port), timeout=SILENCE_SECONDS)
        self._socket = plain
        if address.scheme == "https":
            try:
                self._socket = ssl.create_default_context().wrap_socket(plain, server_hostname=address.host)
            except BaseException:
                plain.close()
                raise
        return self._socket


def _answer(status: int, seconds: float) -> Answer:
    try:
        name = f"{status} {HTTPStatus(status).phrase}"
    except ValueError:
        name = str(status)
    if 200 <= status < 300:
        return Answer(True, f"{name} after {seconds:.2f} s.")
    if 300 <= status < 400:
        return Answer(False, f"Answered {name}: redirects are not followed, give the address that it leads to.")
    return Answer(False, f"Answered {name}.")


def _sentence(address: Address, error: Exception) -> str:
    where = f"{address.host}:{address.port}"
    if isinstance(error, TimeoutError):
        return f"{where} said nothing for {SILENCE_SECONDS:.0f} seconds."
    if isinstance(error, socket.gaierror):
        return f"The name {address.host} is not known here."
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"The certificate of {address.host} does not hold: {error.verify_message}."
    if isinstance(error, ssl.SSLError):
        return f"{where} does not speak TLS as it should ({error.reason or 'no reason given'})."
    if isinstance(error, ConnectionRefusedError):
        return f"Nothing listens at {where}."
    if isinstance(error, OSError):
        return f"{where} could not be reached ({error.strerror or type(error).__name__})."
    return f"{where} answered something that is not HTTP."
