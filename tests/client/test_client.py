"""The Python client and its command line against a whole Podracer."""

import json
import os
import subprocess
import sys
import threading
import zipfile
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
from websockets.sync.server import ServerConnection, serve

import podracer_core
from podracer_client import ApiError, Client, ClientError, ConnectionLostError, live
from podracer_client.__main__ import main
from tests.stack import REPOSITORY, Stack

SPEC = {"name": "by a program", "env_id": "CartPole-v1", "round": {"env_steps": 4096}, "stop": {"pods": 2}}


@pytest.fixture(scope="module")
def stack(shared_stack: Stack) -> Stack:
    return shared_stack


@pytest.fixture
def client(stack: Stack) -> Client:
    return Client(stack.url, stack.token)


@pytest.fixture(scope="module")
def finished(stack: Stack) -> str:
    """A tournament that ended, watched from its start by the command line."""
    client = Client(stack.url, stack.token)
    return client.wait(client.submit(SPEC)["id"], timeout=120)["id"]


@pytest.fixture
def shell(stack: Stack, monkeypatch: pytest.MonkeyPatch) -> None:
    """The environment of somebody on the machine that serves it."""
    monkeypatch.setenv("PODRACER_URL", stack.url)
    monkeypatch.setenv("PODRACER_HOME", str(stack.home))


def test_a_tournament_from_submission_to_an_agent_that_plays(client: Client, finished: str, tmp_path: Path) -> None:
    tournament, board = client.tournament(finished), client.leaderboard(finished)
    assert tournament["status"] == "FINISHED"
    assert board[0]["agent"] == tournament["best_agent"]
    assert len(list(client.pods(finished))) == sum(tournament["pods"].values())
    assert any(event["kind"] == "agent_entered" for event in client.events(finished))
    path = client.download_checkpoint(board[0]["agent"], tmp_path)
    assert path.name == f"CartPole-v1-{board[0]['name']}.safetensors"
    assert podracer_core.load_agent(path).act([0.0, 0.0, 0.0, 0.0]) in (0, 1)
    assert list(tmp_path.iterdir()) == [path]


def test_watching_tells_the_whole_story(client: Client) -> None:
    identity = client.submit(SPEC)["id"]
    kinds = []
    for message in client.watch(identity):
        kinds.append(message["type"])
        if message["type"] in ("snapshot", "status"):
            told = message["data"].get("tournament", message["data"])
            if told["status"] == "FINISHED":
                break
    assert kinds[0] == "snapshot"
    assert set(kinds) <= {"snapshot", "status", "leaderboard", "curve", "pod", "event"}
    client.delete(identity)


def test_watching_ends_with_a_tournament_that_is_deleted(client: Client) -> None:
    identity = client.submit(SPEC, start=False)["id"]
    watching = client.watch(identity)
    assert next(watching)["type"] == "snapshot"
    client.delete(identity)
    assert [message["data"]["status"] for message in watching] == ["DELETED"]
    with pytest.raises(ApiError, match=f"There is no tournament {identity}"):
        next(client.watch(identity))


def test_a_draft_is_renamed_started_and_stopped(client: Client) -> None:
    identity = client.submit({**SPEC, "stop": {"pods": 100}}, start=False)["id"]
    assert client.update(identity, name="renamed", pool_size=1)["name"] == "renamed"
    assert client.start(identity)["status"] == "RUNNING"
    assert client.pause(identity)["status"] == "PAUSED"
    assert client.resume(identity)["status"] == "RUNNING"
    assert client.stop(identity)["status"] == "STOPPED"
    client.delete(identity)


def test_a_refusal_names_every_field(client: Client) -> None:
    with pytest.raises(ApiError) as caught:
        client.submit({"env_id": "CartPole-v1", "pool": {"size": 0}, "leaderboard": {"size": 0}})
    assert caught.value.status == 422
    assert {field for field, _ in caught.value.errors} == {"pool.size", "leaderboard.size"}


def test_the_command_line_submits_watches_and_fetches(
    shell: None, stack: Stack, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "spec.toml").write_text('env_id = "CartPole-v1"\nround.env_steps = 4096\nstop.pods = 1\n')
    monkeypatch.chdir(tmp_path)
    assert main(["submit", "spec.toml", "--watch"]) == 0
    told = capfd.readouterr()
    assert "takes 1st" in told.out
    assert "Its one pod finished." in told.out
    assert "Finished: " in told.err
    identity = told.err.split("/tournaments/")[1].split("/")[0]
    assert main(["download", "--champion", identity]) == 0
    assert podracer_core.load_agent(capfd.readouterr().out.strip()).env_id == "CartPole-v1"
    assert main(["export", identity]) == 0
    assert json.loads(Path(f"tournament-{identity}.json").read_text())["tournament"]["id"] == identity
    assert main(["export", identity, "--format", "tensorboard"]) == 0
    with zipfile.ZipFile(f"tournament-{identity}-tensorboard.zip") as archive:
        (name,) = archive.namelist()
    assert name.startswith(f"tournament-{identity}/board/1-")
    assert main(["export", identity, "--format", "csv", "--out", "points.csv"]) == 0
    assert Path("points.csv").read_text().startswith("agent,name,env_steps,")
    assert main(["list"]) == 0
    assert identity in capfd.readouterr().out


def test_whoever_has_read_enough_hears_of_no_error(shell: None, finished: str) -> None:
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(
        [sys.executable, "-m", "podracer_client", "list"], stdout=write, stderr=subprocess.PIPE, cwd=REPOSITORY
    )
    os.close(write)
    assert (done.returncode, done.stderr) == (0, b"")


def test_the_command_line_says_in_one_line_what_is_wrong(shell: None, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["pause", "999999"]) == 1
    assert capsys.readouterr().err == "podracer: There is no tournament 999999.\n"
    assert main(["submit", "nothing.toml"]) == 1
    assert "nothing.toml cannot be read" in capsys.readouterr().err


def test_no_server_and_no_token_are_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PODRACER_TOKEN", raising=False)
    monkeypatch.setenv("PODRACER_HOME", str(tmp_path))
    with pytest.raises(ClientError, match="set PODRACER_TOKEN"):
        Client("http://127.0.0.1:9")
    with pytest.raises(ConnectionLostError, match=r"No Podracer answers at http://127\.0\.0\.1:9"):
        Client("http://127.0.0.1:9", "token").submit(SPEC)


def test_a_download_that_breaks_off_goes_on_where_it_was(tmp_path: Path) -> None:
    with Breaking() as server:
        path = Client(server.url, "token").download_checkpoint("1", tmp_path / "file")
    assert path.read_bytes() == Breaking.CONTENT
    assert server.ranges == [None, "bytes=50000-"]


def test_watching_works_through_a_proxy_that_drops_the_subprotocol() -> None:
    def one_by_one(socket: ServerConnection) -> None:
        for seq, kind in enumerate(("snapshot", "status")):
            socket.send(json.dumps({"seq": seq, "type": kind, "data": {}}))

    with serve(one_by_one, "127.0.0.1", 0) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        watching = Client(f"http://127.0.0.1:{server.socket.getsockname()[1]}", "token").watch("1")
        assert [next(watching)["type"] for _ in range(2)] == ["snapshot", "status"]
        server.shutdown()


def test_watching_begins_anew_where_the_server_has_fallen_silent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "SILENCE_SECONDS", 0.1)
    connections: list[ServerConnection] = []

    def alive_once(socket: ServerConnection) -> None:
        connections.append(socket)
        for seq, kind in enumerate(("snapshot", "heartbeat", "status")):
            socket.send(json.dumps({"seq": seq, "type": kind, "data": {}}))
        for _ in socket:
            pass

    with serve(alive_once, "127.0.0.1", 0) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        watching = Client(f"http://127.0.0.1:{server.socket.getsockname()[1]}", "token").watch("1")
        assert [next(watching)["type"] for _ in range(4)] == ["snapshot", "status", "snapshot", "status"]
        assert len(connections) == 2
        watching.close()
        server.shutdown()


def test_the_client_needs_neither_django_nor_torch() -> None:
    script = "import sys, podracer_client.__main__; assert not {'django', 'torch', 'podracer_core'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", script], check=True, cwd=REPOSITORY)


class Breaking:
    """A server that breaks the first answer off in the middle."""

    CONTENT = bytes(range(250)) * 400

    def __init__(self) -> None:
        self.ranges: list[str | None] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                wanted = self.headers.get("Range")
                outer.ranges.append(wanted)
                start = int(wanted.removeprefix("bytes=").rstrip("-")) if wanted else 0
                self.send_response(206 if wanted else 200)
                self.send_header("ETag", '"one"')
                self.send_header("Content-Length", str(len(outer.CONTENT) - start))
                self.end_headers()
                self.wfile.write(outer.CONTENT[start : None if wanted else 50_000])

            def log_message(self, format: str, *args: object) -> None:
                pass

        self._server = HTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> "Breaking":
        self._thread = threading.Thread(target=self._server.serve_forever)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()
