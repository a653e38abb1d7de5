"""Videos of episodes: played again in the real Gymnasium environment, which draws each step.

Works without a display: pygame draws into memory, MuJoCo through EGL or OSMesa. H.264 by the ffmpeg that
imageio-ffmpeg carries, so that nothing has to be installed beside Podracer.
"""

import contextlib
import ctypes.util
import io
import os
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Literal, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from podracer_core.envs.registered import registered_spec
from podracer_core.envs.wrapped import make_env
from podracer_core.errors import EnvironmentCrashedError, PodracerError, RenderError
from podracer_core.player import Agent
from podracer_core.playing import Episode, play_episode

Which = Literal["first", "best", "median", "worst"]
DEFAULT_FPS = 30
MOST_GIF_FPS = 50
"""Viewers show a GIF's frames no faster; beyond it only every second, third ... frame is kept."""

SHADOW_PIXELS = 1024

NO_DISPLAY = {"SDL_VIDEODRIVER": "dummy", "SDL_AUDIODRIVER": "dummy", "PYGAME_HIDE_SUPPORT_PROMPT": "1"}

Frame = npt.NDArray[np.uint8]


class Rendering(NamedTuple):
    """fps: frames a second, as the environment gives them; width, height: of the video, in pixels"""

    seed: int
    episodic_return: float
    length: int
    fps: float
    width: int
    height: int


class Writer(Protocol):
    def add(self, frame: Frame) -> None: ...

    def close(self) -> None: ...


def choose_episode(episodes: list[Episode], which: Which) -> Episode:
    """By return; of an even number the lower of the two in the middle, of equals the first."""
    if which == "first":
        return episodes[0]
    ordered = sorted(episodes, key=lambda episode: episode.episodic_return)  # stable
    if which == "best":
        return max(episodes, key=lambda episode: episode.episodic_return)
    return ordered[0 if which == "worst" else (len(ordered) - 1) // 2]


def render_episode(
    agent: Agent,
    episode: Episode,
    path: Path,
    *,
    poster: Path | None = None,
    progress: Callable[[float], None] = lambda share: None,
) -> Rendering:
    """Plays `episode` again from its seed and writes it to `path`, an .mp4 or a .gif, whole or not at all.

    poster: where to write the picture in the middle, a .jpg; progress: hears the share done, after every frame
    Raises RenderError where nothing can be drawn here, or where the episode comes out otherwise than before.
    """
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=".render-", suffix=path.suffix)
    os.close(descriptor)
    Path(temporary).chmod(0o644)  # mkstemp makes it private; a video is as open as its folder
    try:
        with _drawing(agent) as env:
            film = _Film(env, Path(temporary), episode, progress)
            try:
                replayed = play_episode(env, agent, episode.seed, film.shoot)
            finally:
                film.close()
        if replayed != episode:
            raise RenderError(
                f"The episode of seed {episode.seed} returned {episode.episodic_return:g} in {episode.length} steps, "
                f"and {replayed.episodic_return:g} in {replayed.length} when it was played again: "
                f"{agent.env_id} does not follow from its seed alone, so no video shows that episode."
            )
        if poster:
            film.save_poster(poster)
        Path(temporary).replace(path)
    except OSError as error:
        raise RenderError(f"The video {path} cannot be written: {' '.join(str(error).split())[:300]}.") from error
    finally:
        Path(temporary).unlink(missing_ok=True)
    height, width = film.even_size
    return Rendering(*episode, film.fps, width, height)


@contextlib.contextmanager
def _drawing(agent: Agent) -> Iterator[Any]:
    """The environment with pictures. Raises RenderError where it has none or cannot draw them here."""
    os.environ.update(NO_DISPLAY)
    if not os.environ.get("MUJOCO_GL") and sys.platform == "linux":
        lacks_egl = not ctypes.util.find_library("EGL") and ctypes.util.find_library("OSMesa")
        os.environ["MUJOCO_GL"] = "osmesa" if lacks_egl else "egl"
    with _quiet():
        env = _make(agent)
        try:
            yield env
        finally:
            with contextlib.suppress(Exception):  # a renderer that failed to start fails to stop, too
                env.close()


def _make(agent: Agent) -> Any:
    env_id = agent.env_id
    try:
        env = make_env(agent.metadata, render_mode="rgb_array")
        _cheapen(env)
        if "rgb_array" not in env.metadata.get("render_modes", []):
            raise RenderError(f"{env_id} draws no pictures: it has no render mode rgb_array.")
        env.reset(seed=0)
        if not isinstance(env.render(), np.ndarray):
            raise RenderError(f"{env_id} draws no pictures: its render() gives none.")
        return env
    except PodracerError:
        raise
    except Exception as error:  # whatever a graphics library raises
        problem = _no_picture(env_id, error)
    # Only now is the error gone, and with it, still quietly, the renderer that failed to start.
    raise RenderError(problem)


def _cheapen(env: Any) -> None:
    """MuJoCo's shadows in a coarser map, which nobody sees at this size: without a GPU they are half of the work."""
    model: Any = getattr(env.unwrapped, "model", None)
    if hasattr(model, "vis"):
        model.vis.quality.shadowsize = SHADOW_PIXELS


def _no_picture(env_id: str, error: Exception) -> str:
    text = " ".join(str(error).split())[:300] or type(error).__name__
    sentence = f"{env_id} cannot be drawn on this machine: {text.rstrip('.')}."
    if "mujoco" in str(registered_spec(env_id).entry_point):
        sentence += (
            f" MuJoCo draws through {os.environ.get('MUJOCO_GL', 'a display')} here; install libegl1, libgl1 "
            "and libgl1-mesa-dri (or libosmesa6, with MUJOCO_GL=osmesa)."
        )
    return sentence


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Without what graphics libraries print, and what half-started renderers raise while they are collected."""
    hook = sys.unraisablehook
    sys.unraisablehook = lambda unraisable: None
    try:
        with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
            warnings.simplefilter("ignore")
            yield
    finally:
        sys.unraisablehook = hook


class _Film:
    """Takes a picture whenever it is told to, and keeps the one in the middle."""

    def __init__(self, env: Any, path: Path, episode: Episode, progress: Callable[[float], None]) -> None:
        self.fps = float(env.metadata.get("render_fps") or DEFAULT_FPS)
        self._env, self._path, self._progress = env, path, progress
        self._length, self._count = episode.length, 0
        self._writer: Writer | None = None
        self._middle: Frame | None = None

    @property
    def even_size(self) -> tuple[int, int]:
        """Height and width of the video; H.264 wants them even."""
        assert self._middle is not None
        height, width = self._middle.shape[:2]
        return (height, width) if self._path.suffix == ".gif" else (height - height % 2, width - width % 2)

    def shoot(self) -> None:
        try:
            frame: Frame = np.ascontiguousarray(self._env.render(), dtype=np.uint8)
        except Exception as error:
            raise EnvironmentCrashedError(f"{self._env.spec.id} crashed while drawing: {error}") from error
        if self._count == self._length // 2 or self._middle is None:
            self._middle = frame.copy()
        if self._writer is None:
            make = _Gif if self._path.suffix == ".gif" else _Mp4
            self._writer = make(self._path, self.fps, frame.shape)
        self._writer.add(frame)
        self._count += 1
        self._progress(min(1.0, self._count / (self._length + 1)))

    def close(self) -> None:
        if self._writer:
            self._writer.close()

    def save_poster(self, path: Path) -> None:
        from PIL import Image

        height, width = self.even_size
        Image.fromarray(self._middle[:height, :width]).save(path, quality=85)  # type: ignore[index]


class _Mp4:
    """H.264 in yuv420p, which every browser plays, with its index in front so that it plays while it loads."""

    def __init__(self, path: Path, fps: float, shape: tuple[int, ...]) -> None:
        from imageio_ffmpeg import get_ffmpeg_exe

        self._height, self._width = shape[0] - shape[0] % 2, shape[1] - shape[1] % 2
        source = ["-f", "rawvideo", "-pix_fmt", "rgb24", "-s", f"{self._width}x{self._height}", "-r", f"{fps:g}"]
        target = ["-c:v", "libx264", "-crf", "23", "-pix_fmt", "yuv420p", "-movflags", "+faststart", "-f", "mp4"]
        self._ffmpeg = subprocess.Popen(
            [get_ffmpeg_exe(), "-y", "-loglevel", "error", *source, "-i", "-", *target, str(path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )

    def add(self, frame: Frame) -> None:
        assert self._ffmpeg.stdin is not None
        with contextlib.suppress(BrokenPipeError):  # `close` says why
            self._ffmpeg.stdin.write(frame[: self._height, : self._width].tobytes())

    def close(self) -> None:
        """Raises OSError with what ffmpeg says."""
        try:
            _, said = self._ffmpeg.communicate()
        except BaseException:
            self._ffmpeg.kill()
            raise
        if self._ffmpeg.returncode:
            raise OSError(said.decode(errors="replace") or f"ffmpeg ended with {self._ffmpeg.returncode}")


class _Gif:
    """Repeats for ever. Frames are kept as they are shown, one palette each."""

    def __init__(self, path: Path, fps: float, shape: tuple[int, ...]) -> None:
        self._path, self._stride = path, max(1, -int(-fps // MOST_GIF_FPS))
        self._milliseconds = round(1000 * self._stride / fps)
        self._images: list[Any] = []
        self._count = 0

    def add(self, frame: Frame) -> None:
        from PIL import Image

        if self._count % self._stride == 0:
            self._images.append(Image.fromarray(frame).quantize())
        self._count += 1

    def close(self) -> None:
        first, *rest = self._images
        first.save(self._path, save_all=True, append_images=rest, duration=self._milliseconds, loop=0)
