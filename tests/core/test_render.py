"""Videos of episodes, read back; and a sentence wherever there can be none."""

import json
import os
import re
import subprocess
import sys
from ctypes.util import find_library
from pathlib import Path
from typing import Any

import gymnasium
import imageio_ffmpeg
import numpy as np
import pytest
from PIL import Image, ImageSequence

from podracer_core.checkpoint import save_agent
from podracer_core.envs.registered import describe, registered_spec, start
from podracer_core.errors import EnvError, RenderError
from podracer_core.player import Agent
from podracer_core.playing import Episode, play_episodes
from podracer_core.render import choose_episode, render_episode


class Corridor(gymnasium.Env[Any, Any]):
    """Draws its step as a brightness, 15 x 11 pixels; what an episode gives depends on the seed."""

    metadata = {"render_modes": ["rgb_array"], "render_fps": 10}  # noqa: RUF012 - as Gymnasium declares it
    observation_space = gymnasium.spaces.Box(-1.0, 1.0, (2,))
    action_space = gymnasium.spaces.Discrete(2)
    luck = 0.0

    def __init__(self, render_mode: str | None = None, fault: str = "") -> None:
        self.render_mode, self.fault = render_mode, fault

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.steps, self.pay = 0, float(self.np_random.integers(1, 1000))
        if self.fault == "luck":
            Corridor.luck += 0.25
        return np.zeros(2, np.float32), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self.steps += 1
        return np.zeros(2, np.float32), self.pay + Corridor.luck, self.steps == 8, False, {}

    def render(self) -> Any:
        if self.fault == "no screen":
            raise OSError("there is no screen\nanywhere")
        return None if self.fault == "nothing" else np.full((11, 15, 3), 20 * self.steps, np.uint8)


class Blind(Corridor):
    metadata = {"render_modes": []}  # noqa: RUF012


class Plain(Corridor):
    """As an environment is that nobody thought of drawing."""

    def __init__(self, fault: str) -> None:
        super().__init__(fault=fault)


@pytest.fixture(autouse=True)
def _registered() -> None:
    for name, entry, fault in (
        ("Corridor-v0", Corridor, ""),
        ("NoScreen-v0", Corridor, "no screen"),
        ("Nothing-v0", Corridor, "nothing"),
        ("Luck-v0", Corridor, "luck"),
        ("Blind-v0", Blind, ""),
        ("Plain-v0", Plain, ""),
    ):
        if name not in gymnasium.registry:
            gymnasium.register(name, entry_point=entry, kwargs={"fault": fault}, disable_env_checker=True)


def agent_for(env_id: str) -> Agent:
    """A linear policy that does something."""
    env = start(registered_spec(env_id))
    entry = describe(env)
    env.close()
    shape = entry.action_space.flat_dim, entry.observation_space.flat_dim
    random = np.random.default_rng(0)
    tensors = {
        "actor.0.weight": random.normal(size=shape).astype(np.float32),
        "actor.0.bias": np.zeros(shape[0], np.float32),
    }
    spaces = {"observation": entry.observation_space.model_dump(), "action": entry.action_space.model_dump()}
    network = {"hidden_size": 1, "num_layers": 0, "activation": "tanh", "obs_clip": 10.0}
    rest: dict[str, Any] = {"hyperparameters": {}, "score": None, "lineage": {}}
    return Agent(tensors, {"env_id": env_id, "algorithm": "ppo", "spaces": spaces, "network": network, **rest})


def frames_of(path: Path) -> tuple[list[Any], str]:
    """What ffmpeg makes of a video: its pictures, and what it says of it."""
    ffmpeg = imageio_ffmpeg.get_ffmpeg_exe()
    command = [ffmpeg, "-hide_banner", "-i", str(path), "-f", "rawvideo", "-pix_fmt", "rgb24", "-"]
    ran = subprocess.run(command, capture_output=True, check=True, timeout=60)
    about = next(line for line in ran.stderr.decode().splitlines() if "Video: h264" in line)
    size = re.search(r", (\d+)x(\d+)", about)
    assert size is not None
    width, height = map(int, size.groups())
    return list(np.frombuffer(ran.stdout, np.uint8).reshape(-1, height, width, 3)), about


def test_the_video_has_every_step_at_the_environments_rate(tmp_path: Path) -> None:
    agent, path, poster = agent_for("Corridor-v0"), tmp_path / "episode.mp4", tmp_path / "poster.jpg"
    (episode,) = play_episodes(agent, 1, seed=3)
    told: list[float] = []
    rendering = render_episode(agent, episode, path, poster=poster, progress=told.append)
    assert rendering == (episode.seed, episode.episodic_return, 8, 10.0, 14, 10)  # H.264 takes even sizes only
    frames, about = frames_of(path)
    assert "yuv420p" in about
    assert " 10 fps" in about
    assert [round(float(frame.mean()) / 20) for frame in frames] == [0, 1, 2, 3, 4, 5, 6, 7, 8]
    with Image.open(poster) as picture:
        assert np.asarray(picture).mean() == pytest.approx(80, abs=4)  # the fourth step of eight
    assert told == sorted(told)
    assert told[-1] == 1.0
    data = path.read_bytes()
    assert data.index(b"moov") < data.index(b"mdat")  # plays while it loads
    assert sorted(file.name for file in tmp_path.iterdir()) == ["episode.mp4", "poster.jpg"]


def test_a_gif_repeats_and_keeps_the_rate(tmp_path: Path) -> None:
    agent, path = agent_for("Corridor-v0"), tmp_path / "episode.gif"
    render_episode(agent, play_episodes(agent, 1, seed=3)[0], path)
    with Image.open(path) as image:
        assert image.info["loop"] == 0
        frames = [
            (frame.info["duration"], frame.convert("L").getpixel((3, 3))) for frame in ImageSequence.Iterator(image)
        ]
    assert [duration for duration, _ in frames] == [100] * 9
    assert [round(shade / 20) for _, shade in frames] == list(range(9))


def test_the_episode_is_chosen_by_its_return() -> None:
    episodes = [
        Episode(seed, episodic_return, 5) for seed, episodic_return in enumerate([3.0, 9.0, 1.0, 7.0, 9.0, 1.0])
    ]
    chosen = {which: choose_episode(episodes, which).seed for which in ("first", "best", "median", "worst")}
    assert chosen == {"first": 0, "best": 1, "median": 0, "worst": 2}


def test_an_episode_that_comes_out_otherwise_is_not_shown(tmp_path: Path) -> None:
    agent = agent_for("Luck-v0")
    (episode,) = play_episodes(agent, 1, seed=1)
    with pytest.raises(RenderError, match="Luck-v0 does not follow from its seed alone"):
        render_episode(agent, episode, tmp_path / "episode.mp4")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("env_id", "sentence"),
    [
        ("NoScreen-v0", r"NoScreen-v0 cannot be drawn on this machine: there is no screen anywhere\."),
        ("Nothing-v0", r"Nothing-v0 draws no pictures: its render\(\) gives none"),
        ("Blind-v0", "Blind-v0 draws no pictures: it has no render mode rgb_array"),
        ("Plain-v0", "Plain-v0 draws no pictures: its __init__ takes no render_mode"),
    ],
)
def test_what_cannot_be_drawn_is_said_in_a_sentence(env_id: str, sentence: str, tmp_path: Path) -> None:
    agent = agent_for(env_id)
    with pytest.raises(RenderError, match=sentence):
        render_episode(agent, play_episodes(agent, 1, seed=1)[0], tmp_path / "episode.mp4")
    assert list(tmp_path.iterdir()) == []


def test_an_environment_that_does_not_start_is_named() -> None:
    def raising(**_: Any) -> Any:
        raise KeyError("no such level")

    if "Broken-v0" not in gymnasium.registry:
        gymnasium.register("Broken-v0", entry_point=raising)
    agent = agent_for("CartPole-v1")
    agent.env_id = agent.metadata["env_id"] = "Broken-v0"
    with pytest.raises(EnvError, match="Broken-v0 does not start: KeyError: 'no such level'"):
        play_episodes(agent, 1, seed=1)


def evaluate(tmp_path: Path, env_id: str, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """The command, with no display and nothing said of how to do without."""
    source, agent = tmp_path / "agent.safetensors", agent_for(env_id)
    save_agent(source, agent.tensors, agent.metadata)
    clean = {
        name: value for name, value in os.environ.items() if name not in ("DISPLAY", "MUJOCO_GL", "SDL_VIDEODRIVER")
    }
    command = [sys.executable, "-m", "podracer_core", "evaluate", str(source), *arguments]
    return subprocess.run(command, capture_output=True, text=True, env=clean | environment, timeout=120, check=False)


def test_the_command_films_cartpole_without_a_display(tmp_path: Path) -> None:
    out = tmp_path / "worst.mp4"
    ran = evaluate(
        tmp_path, "CartPole-v1", "--episodes", "5", "--render", str(out), "--render-episode", "worst", "--json"
    )
    assert (ran.returncode, ran.stderr) == (0, "")
    (line,) = ran.stdout.splitlines()
    answer = json.loads(line)
    assert answer["render"]["episodic_return"] <= answer["score"]
    assert (answer["render"]["fps"], answer["render"]["width"], answer["render"]["height"]) == (50, 600, 400)
    frames, _ = frames_of(out)
    assert len(frames) == answer["render"]["length"] + 1
    assert frames[0].std() > 10  # a cart on a white ground


@pytest.mark.skipif(not find_library("EGL"), reason="no EGL on this machine")
def test_the_command_films_mujoco_without_a_display(tmp_path: Path) -> None:
    out = tmp_path / "first.mp4"
    ran = evaluate(tmp_path, "InvertedPendulum-v5", "--episodes", "1", "--render", str(out), "--json")
    assert ran.returncode == 0, ran.stderr
    frames, _ = frames_of(out)
    assert len(frames) == json.loads(ran.stdout)["render"]["length"] + 1
    assert frames[0].std() > 10


def test_mujoco_without_a_renderer_says_what_to_install(tmp_path: Path) -> None:
    out = tmp_path / "first.mp4"
    ran = evaluate(tmp_path, "InvertedPendulum-v5", "--episodes", "1", "--render", str(out), MUJOCO_GL="disabled")
    assert (ran.returncode, ran.stdout) == (1, "")
    (line,) = [line for line in ran.stderr.splitlines() if line and not line.startswith("WARNING: compiler")]
    assert "InvertedPendulum-v5 cannot be drawn on this machine" in line
    assert "install libegl1" in line
    assert not out.exists()


def test_the_command_refuses_what_is_no_video_before_it_plays(tmp_path: Path) -> None:
    from podracer_core.__main__ import main

    assert main(["evaluate", str(tmp_path / "none"), "--render", str(tmp_path / "episode.avi")]) == 2
    assert main(["evaluate", str(tmp_path / "none"), "--render", "/nowhere/episode.mp4"]) == 2
