"""A slot: claims one pod after another and has its warm pod process run them."""

import contextlib
import logging
import shutil
import tempfile
import threading
import time
from pathlib import Path

from django.conf import settings
from django.db import DataError

from podracer_core.errors import DonorError, PodProcessLostError, PodracerError
from podracer_core.pod_process import PodProcess
from podracer_core.progress import Directive, Log, Outcome, PodResult, Progress, Saved
from podracer_core.spec import PodPlan
from webapp.tournaments import agent_selectors, endings, orchestrator, storage
from webapp.tournaments.claims import Claim, Taker
from webapp.tournaments.endings import StoredFiles
from webapp.tournaments.errors import PodLostError
from workers.database import persistently, while_wanted
from workers.machine import Machine
from workers.reporter import Reporter

logger = logging.getLogger(__name__)

RENEW_SECONDS = 1.0
"""How often the lease is renewed and the wish to pause or stop is read."""

OBEY_SECONDS = 10.0
"""A pod that was told to end and does not is killed after this; its last saved state is kept."""


class Slot:
    """One pod at a time, on one device. Used by one thread at a time. reporter: that of all slots of the worker"""

    def __init__(self, machine: Machine, index: int, stopping: threading.Event, reporter: Reporter) -> None:
        self.machine = machine
        self.index = index
        self.stopping = stopping
        self.reporter = reporter
        self.leaving = threading.Event()
        """Set while what runs here shall go on elsewhere."""
        self.taker = Taker(machine.name, index, machine.device_kind)
        self.process = PodProcess(device=machine.device(index), threads=machine.threads)

    def warm(self) -> None:
        """Start the pod process, so that the first pod finds it ready."""
        if not self.process.alive:
            self.process.close()
            self.process = PodProcess(device=self.machine.device(self.index), threads=self.machine.threads)
            self.process.start()

    def close(self) -> None:
        self.process.close()

    def work(self) -> int:
        """Run queued pods until none is left or the worker stops. Returns how many were run."""
        count, following = 0, None
        while following or not self.stopping.is_set():
            claim = following or while_wanted(self._claim, self.stopping)
            if claim is None:
                break
            count += 1
            following = self.run(claim, go_on=True)
        return count

    def _claim(self) -> Claim | None:
        taker = self.taker
        return orchestrator.pod_claim(worker=taker.worker, slot=taker.slot, device_kind=taker.device_kind)

    def run(self, claim: Claim, *, go_on: bool = False) -> Claim | None:
        """Run one claimed pod to its end and hand in the result. A pod that was lost meanwhile leaves nothing.

        go_on: whether to claim the next one, if there is any, with the result; it is returned
        """
        home = Path(settings.PODRACER_HOME) / "pods"
        home.mkdir(parents=True, exist_ok=True)
        folder = Path(tempfile.mkdtemp(prefix=f"pod-{claim.pod_id}-", dir=home))
        try:
            return PodRun(self, claim, folder).run(go_on)
        except PodLostError as lost:
            logger.warning("%s; what it did is dropped", lost)
            self._quiet()
            return None
        finally:
            self.reporter.forget((claim.pod_id, claim.attempt))
            shutil.rmtree(folder, ignore_errors=True)

    def _quiet(self) -> None:
        """Have the process end what it runs, so that it is free for the next pod."""
        with contextlib.suppress(PodProcessLostError):
            self.process.direct(Directive.STOP)
            deadline = time.monotonic() + OBEY_SECONDS
            while time.monotonic() < deadline:
                if isinstance(self.process.poll(0.2), PodResult):
                    return
        self.process.kill()


class PodRun:
    """One attempt of one pod on a slot."""

    def __init__(self, slot: Slot, claim: Claim, folder: Path) -> None:
        self.slot = slot
        self.claim = claim
        self.folder = folder
        self.attempt = (claim.pod_id, claim.attempt)
        self.reporter = slot.reporter
        self.saved_file = claim.resume_file
        self.directive = Directive.CONTINUE
        self.obey_until = float("inf")
        self.renew_at = time.monotonic() + RENEW_SECONDS

    def run(self, go_on: bool) -> Claim | None:
        """Raises PodLostError."""
        points: list[Progress] = []
        persistently(lambda: orchestrator.claim_tell(self.claim))
        try:
            self.slot.warm()
            self.slot.process.submit(self._plan())
            result = self._trained()
            points = self.reporter.take(self.attempt)
            files = self._store(result)
        except DonorError as error:
            result, files = self._failed(str(error), retryable=False, lost_donor=error.position), StoredFiles()
        except (PodracerError, OSError) as error:
            # A lost process, a full disk, a parent's file that is gone: the pod failed, the worker goes on.
            retryable = not isinstance(error, PodracerError) or error.retryable
            result, files = self._failed(str(error), retryable), StoredFiles(state_file=self.saved_file)
        except DataError as error:
            result, files = self._unstorable(error)
        try:
            return self._finish(result, files, points, go_on)
        except DataError as error:
            result, files = self._unstorable(error)
            return self._finish(result, files, [], go_on)

    def _plan(self) -> PodPlan:
        """The claimed plan completed with what depends on this machine."""
        machine = self.slot.machine
        return PodPlan(
            **self.claim.plan,
            device=machine.device(self.slot.index),
            threads=machine.threads,
            directory=str(self.folder),
            resume_from=self._fetched(self.claim.resume_file, "resume.pt"),
            inherit_from=self._fetched_donors(),
        )

    def _fetched_donors(self) -> tuple[str, ...]:
        """Raises DonorError for one whose file is gone."""
        paths = []
        for position, stored in enumerate(self.claim.inherit_files):
            if not stored:
                raise DonorError("Its training state was found lost by another pod", position)
            try:
                paths.append(str(storage.fetch(stored, self.folder / f"inherit-{position}.pt")))
            except FileNotFoundError:
                raise DonorError(f"The training state {stored} is not in storage any more", position) from None
        return tuple(paths)

    def _fetched(self, stored: str, name: str) -> str | None:
        return str(storage.fetch(stored, self.folder / name)) if stored else None

    def _trained(self) -> PodResult:
        """As `_relay`; whatever goes wrong on the way, the process trains on for nobody else."""
        try:
            return self._relay()
        except PodLostError:
            raise  # the slot quiets it, which keeps it warm
        except BaseException:
            self.slot.process.kill()
            raise

    def _relay(self) -> PodResult:
        """Pass on what the pod says until it ends. Raises PodLostError, PodProcessLostError."""
        while True:
            message = self.slot.process.poll(self.reporter.seconds_until_due(RENEW_SECONDS / 4))
            match message:
                case PodResult():
                    return message
                case Progress():
                    self.reporter.add(self.attempt, message)
                case Saved():
                    self._keep_state(message)
                case Log():
                    self._log(message)
            self.reporter.flush_if_due(self.attempt)
            if time.monotonic() >= self.renew_at:
                self._renew()
            if time.monotonic() > self.obey_until:
                return self._disobeyed()

    def _renew(self) -> None:
        """Renew the lease, and tell the pod what is wanted of it."""
        wanted = persistently(lambda: orchestrator.pod_renew(pod_id=self.claim.pod_id, attempt=self.claim.attempt))
        if wanted is not Directive.STOP and (self.slot.stopping.is_set() or self.slot.leaving.is_set()):
            wanted = Directive.PAUSE
        self.renew_at = time.monotonic() + RENEW_SECONDS
        if wanted is self.directive:
            return
        self.directive = wanted
        if wanted is Directive.PAUSE and self.slot.leaving.is_set():
            self._log(
                Log(f"Worker {self.slot.machine.name} is drained: the pod saves its state to go on elsewhere.", "info")
            )
        self.slot.process.direct(wanted)
        ends = wanted in (Directive.STOP, Directive.PAUSE)
        self.obey_until = time.monotonic() + OBEY_SECONDS if ends else float("inf")

    def _disobeyed(self) -> PodResult:
        """The pod does not answer (a hanging environment, say): what it last saved is what remains."""
        self.slot.process.kill()
        reason = f"It did not end within {OBEY_SECONDS:.0f} seconds of being told to {self.directive}."
        if self.directive is Directive.PAUSE:
            return self._failed(reason, retryable=True)
        self._log(Log(reason, "warning"))
        return PodResult(Outcome.STOPPED, env_steps=0, seconds=0.0)

    def _keep_state(self, saved: Saved) -> None:
        name = self._file(f"state-{self.claim.attempt}-{saved.env_steps}.pt")
        size = Path(saved.path).stat().st_size
        # A copy: the pod writes its next state under the same name, which may be there already.
        storage.put(Path(saved.path), name)
        try:
            replaced = persistently(
                lambda: orchestrator.pod_saved(
                    pod_id=self.claim.pod_id,
                    attempt=self.claim.attempt,
                    state_file=name,
                    state_size=size,
                    env_steps=saved.env_steps,
                    seconds=saved.seconds,
                )
            )
        except PodLostError:
            storage.delete(name)
            raise
        self.saved_file = name
        if replaced != name:
            storage.delete(replaced)

    def _store(self, result: PodResult) -> StoredFiles:
        """Put the result's files into storage, before anything in the database speaks of them."""
        checkpoint, state, digest, size, state_size = "", "", "", 0, 0
        if result.checkpoint_path:
            checkpoint = self._file(f"checkpoint-{self.claim.attempt}.safetensors")
            digest = storage.file_sha256(Path(result.checkpoint_path))
            size = Path(result.checkpoint_path).stat().st_size
            storage.take(Path(result.checkpoint_path), checkpoint)
        if result.state_path:
            state = self._file(f"state-{self.claim.attempt}-end.pt")
            state_size = Path(result.state_path).stat().st_size
            try:
                storage.take(Path(result.state_path), state)
            except BaseException:
                storage.delete(checkpoint)
                raise
        return StoredFiles(checkpoint, digest, size, state, state_size)

    def _finish(self, result: PodResult, files: StoredFiles, points: list[Progress], go_on: bool) -> Claim | None:
        """Hand in the result, then remove the files that nothing refers to any more."""
        ends = self.slot.stopping.is_set() or self.slot.leaving.is_set()
        taker = self.slot.taker if go_on and not ends else None
        try:
            following = persistently(
                lambda: orchestrator.pod_finish(
                    pod_id=self.claim.pod_id,
                    attempt=self.claim.attempt,
                    result=result,
                    files=files,
                    points=points,
                    taker=taker,
                )
            )
        except (PodLostError, DataError):
            self._drop(files)
            raise
        still_needed = result.outcome is Outcome.FAILED and result.retryable
        if self.saved_file and self.saved_file != files.state_file and files.state_file and not still_needed:
            storage.delete(self.saved_file)
        return following

    def _drop(self, files: StoredFiles) -> None:
        """Remove what was not taken. It was if only the database's answer was lost, and the second time refused."""
        kept = persistently(lambda: agent_selectors.files_of(self.claim.agent_id)) | {self.saved_file}
        for name in {files.checkpoint_file, files.state_file} - kept:
            storage.delete(name)

    def _failed(self, reason: str, retryable: bool, lost_donor: int | None = None) -> PodResult:
        return PodResult(
            Outcome.FAILED, env_steps=0, seconds=0.0, reason=reason, retryable=retryable, lost_donor=lost_donor
        )

    def _unstorable(self, error: DataError) -> tuple[PodResult, StoredFiles]:
        """Another attempt would report the same."""
        reason = f"The database cannot store what it reported: {str(error).strip()}."
        return self._failed(reason, retryable=False), StoredFiles(state_file=self.saved_file)

    def _log(self, line: Log) -> None:
        persistently(lambda: endings.log(pod_id=self.claim.pod_id, text=line.text, level=line.level))

    def _file(self, name: str) -> str:
        return storage.agent_file(self.claim.tournament_id, self.claim.agent_id, name)
