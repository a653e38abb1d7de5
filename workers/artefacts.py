"""Makes exports, replays and ensembles beside the slots: one at a time, in a child that gives way to pods."""

import json
import logging
import os
import queue
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import close_old_connections

from podracer_core.progress import Evaluation
from webapp.embedded.process import launch
from webapp.environment import REPOSITORY
from webapp.tournaments import storage
from webapp.tournaments.artefacts import artefacts, ensembles
from webapp.tournaments.artefacts.artefacts import ArtefactClaim, MadeFile
from webapp.tournaments.errors import ArtefactLostError
from webapp.tournaments.models import Artefact
from workers.database import persistently, while_wanted

logger = logging.getLogger(__name__)

RENEW_SECONDS = 1.0
MOST_SECONDS = 1_800.0
"""What takes longer is given up: a thousand frames of MuJoCo without a GPU take two minutes of an idle core."""

ENSEMBLE_SECONDS = 14_400.0
"""Its episodes are as many as its members were evaluated over, and each member plays every step."""

SUFFIXES = {"torchscript": ".pt", "onnx": ".onnx", "ensemble": ".safetensors"}


class ArtefactMaker:
    """Sleeps until rung for, then makes what is queued. One thread, which also owns its children."""

    def __init__(self, worker: str, stopping: threading.Event) -> None:
        self.worker, self.stopping = worker, stopping
        self.leaving = threading.Event()
        """Set while what is made here shall be made elsewhere."""
        self._bell = threading.Event()
        self._thread = threading.Thread(target=self._live, name="artefacts", daemon=True)

    def start(self) -> None:
        self._bell.set()  # artefacts may have been asked for while no worker was there
        self._thread.start()

    def ring(self) -> None:
        self._bell.set()

    def close(self) -> None:
        """Waits until what was begun is handed back; `stopping` is set."""
        self._bell.set()
        if self._thread.ident is not None:
            self._thread.join(5.0)

    def _live(self) -> None:
        while not self.stopping.is_set():
            self._bell.wait()
            self._bell.clear()
            try:
                self.work()
            except Exception:  # nobody would start this thread again; the next ring tries again what failed
                logger.exception("artefacts could not be made")
            finally:
                close_old_connections()

    def work(self) -> int:
        """Makes queued artefacts until none is left or the worker stops. Returns how many were tried."""
        count = 0
        while not self.stopping.is_set():
            claim = while_wanted(lambda: artefacts.artefact_claim(worker=self.worker), self.stopping)
            if claim is None:
                break
            count += 1
            home = Path(settings.PODRACER_HOME) / "pods"
            home.mkdir(parents=True, exist_ok=True)
            folder = Path(tempfile.mkdtemp(prefix=f"artefact-{claim.artefact_id}-", dir=home))
            try:
                Making(claim, folder, lambda: self.stopping.is_set() or self.leaving.is_set()).run()
            except ArtefactLostError as lost:
                logger.warning("%s; what it made is dropped", lost)
            finally:
                shutil.rmtree(folder, ignore_errors=True)
        return count


class Making:
    """One attempt at one artefact."""

    def __init__(self, claim: ArtefactClaim, folder: Path, given_up: Callable[[], bool]) -> None:
        self.claim, self.folder, self.given_up = claim, folder, given_up
        self.out = folder / f"{claim.name}{SUFFIXES.get(claim.name, '.mp4')}"
        self.poster = folder / f"{claim.name}.jpg"
        self.is_ensemble = claim.kind == Artefact.Kind.ENSEMBLE
        self.progress = 0.0

    def run(self) -> None:
        """Raises ArtefactLostError."""
        try:
            answer = self._made()
            if answer is None:
                persistently(lambda: artefacts.artefact_requeue(claim=self.claim))
            elif "done" in answer:
                self._keep(answer["done"])
            else:
                self._fail(answer["error"])
        except OSError as error:  # a full disk, a checkpoint that is gone
            self._fail(f"{error.strerror or error}: {error.filename or self.claim.checkpoint_files[0]}.")

    def _fail(self, reason: str) -> None:
        fail = ensembles.ensemble_fail if self.is_ensemble else artefacts.artefact_fail
        persistently(lambda: fail(claim=self.claim, reason=reason))

    def _made(self) -> dict[str, Any] | None:
        """The child's last word; None when the worker gives it up first. Raises ArtefactLostError, OSError."""
        checkpoints = [
            storage.fetch(name, self.folder / f"agent-{number}.safetensors")
            for number, name in enumerate(self.claim.checkpoint_files)
        ]
        for number, path in enumerate(checkpoints):
            if not path.exists():
                whose = f" of {self.claim.job['lineage']['parents'][number]}" if self.is_ensemble else ""
                return {"error": f"The checkpoint{whose} is no longer in storage."}
        child = self._launch(checkpoints)
        lines: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        reader = threading.Thread(target=_read, args=(child, lines), daemon=True)
        reader.start()
        try:
            return self._listen(child, lines)
        finally:
            with suppress(ProcessLookupError):
                os.killpg(child.pid, signal.SIGKILL)
            child.wait()
            reader.join()

    def _launch(self, checkpoints: list[Path]) -> "subprocess.Popen[bytes]":
        job = {
            **self.claim.job,
            "kind": self.claim.kind,
            "name": self.claim.name,
            "checkpoints": [str(path) for path in checkpoints],
            "out": str(self.out),
            "poster": str(self.poster),
        }
        path = os.pathsep.join(filter(None, (str(REPOSITORY), os.environ.get("PYTHONPATH"))))
        return launch(
            [sys.executable, "-m", "workers.artefact_process", json.dumps(job)],
            output=subprocess.PIPE,
            death_signal=signal.SIGKILL,
            environment={**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1"},
        )

    def _listen(
        self, child: "subprocess.Popen[bytes]", lines: "queue.SimpleQueue[str | None]"
    ) -> dict[str, Any] | None:
        most = ENSEMBLE_SECONDS if self.is_ensemble else MOST_SECONDS
        deadline, renew_at, said = time.monotonic() + most, 0.0, ""
        while True:
            with suppress(queue.Empty):
                line = lines.get(timeout=RENEW_SECONDS / 2)
                if line is None:
                    status = child.wait()
                    return {"error": f"Its process ended with status {status} ({said[-300:] or 'no output'})."}
                message = _message(line)
                if "done" in message or "error" in message:
                    return message
                said = said if message else line
                self.progress = message.get("progress", self.progress)
            if self.given_up():
                return None
            if time.monotonic() > deadline:
                return {"error": f"It took longer than {most / 60:.0f} minutes."}
            if time.monotonic() >= renew_at:
                renew_at = time.monotonic() + RENEW_SECONDS
                persistently(lambda: artefacts.artefact_renew(claim=self.claim, progress=self.progress))

    def _keep(self, details: dict[str, Any]) -> None:
        """Stores what was made, then says so; takes it away again where nobody wants it any more."""
        made = MadeFile(self._name(self.out), storage.store(self.out, self._name(self.out)), self.out.stat().st_size)
        if self.poster.exists():
            digest = storage.store(self.poster, self._name(self.poster))
            details["poster"] = {"sha256": digest, "size": self.poster.stat().st_size}
            made = MadeFile(made.file, made.sha256, made.size, self._name(self.poster))
        try:
            persistently(lambda: self._finish(made, details))
        except ArtefactLostError:
            storage.delete(made.file)
            storage.delete(made.poster_file)
            raise

    def _finish(self, made: MadeFile, details: dict[str, Any]) -> None:
        if self.is_ensemble:
            for name in ("returns", "lengths"):  # of which JSON has made lists
                details[name] = tuple(details[name])
            ensembles.ensemble_finish(claim=self.claim, made=made, evaluation=Evaluation(**details))
        else:
            artefacts.artefact_finish(claim=self.claim, made=made, details=details)

    def _name(self, path: Path) -> str:
        """Its storage name. Of the attempt, so that one that was given up never takes another's place."""
        claim = self.claim
        name = f"{claim.kind}-{path.stem}-{claim.attempt}{path.suffix}"
        return storage.agent_file(claim.tournament_id, claim.agent_id, name)


def _read(child: "subprocess.Popen[bytes]", lines: "queue.SimpleQueue[str | None]") -> None:
    assert child.stdout is not None
    with child.stdout:
        for line in child.stdout:
            lines.put(line.decode(errors="replace").strip())
    lines.put(None)


def _message(line: str) -> dict[str, Any]:
    """The child's JSON; empty for what a library printed."""
    if not line.startswith(('{"progress"', '{"done"', '{"error"')):
        return {}
    message: dict[str, Any] = json.loads(line)
    return message
