"""The pictures of the environments that a new tournament is chosen by: `python -m deploy.environment_pictures`.

Each is a frame of the real Gymnasium environment after some random actions, drawn without a display, in WebP. One
serves all versions of an id: static/img/environments/CartPole.webp is shown for CartPole-v0 and CartPole-v1.
"""

import contextlib
import io
import os
import sys
import warnings
from pathlib import Path
from typing import Any

import gymnasium
from PIL import Image

from podracer_core.render import NO_DISPLAY

FOLDER = Path(__file__).parents[1] / "static" / "img" / "environments"
SIZE = 288, 192
MOST_BYTES = 10_000
SEED = 1

STEPS = {
    "Acrobot-v1": 60,
    "BipedalWalker-v3": 45,
    "BipedalWalkerHardcore-v3": 45,
    "CarRacing-v3": 70,
    "CartPole-v1": 14,
    "LunarLander-v3": 55,
    "LunarLanderContinuous-v3": 12,
    "MountainCar-v0": 50,
    "MountainCarContinuous-v0": 90,
    "Pendulum-v1": 30,
    "Ant-v5": 40,
    "HalfCheetah-v5": 30,
    "Hopper-v5": 8,
    "Humanoid-v5": 8,
    "HumanoidStandup-v5": 10,
    "InvertedDoublePendulum-v5": 4,
    "InvertedPendulum-v5": 4,
    "Pusher-v5": 20,
    "Reacher-v5": 20,
    "Swimmer-v5": 40,
    "Walker2d-v5": 10,
    "Blackjack-v1": 0,
    "FrozenLake-v1": 0,
    "FrozenLake8x8-v1": 0,
    "Taxi-v4": 0,
    "ALE/Breakout-v5": 60,
    "ALE/Pong-v5": 120,
}
"""Environment -> random actions before the picture: as many as make it lively and leave it upright."""


def main(ids: list[str]) -> None:
    os.environ.update(NO_DISPLAY)
    os.environ.setdefault("MUJOCO_GL", "egl")
    FOLDER.mkdir(parents=True, exist_ok=True)
    for env_id in ids or STEPS:
        with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
            warnings.simplefilter("ignore")
            picture = framed(frame(env_id, STEPS.get(env_id, 30)))
        file = FOLDER / f"{env_id.rpartition('/')[2].rpartition('-v')[0]}.webp"
        file.write_bytes(packed(picture))
        print(f"{file.name}: {file.stat().st_size:,} bytes")


def frame(env_id: str, steps: int) -> Image.Image:
    """What `env_id` looks like after `steps` random actions, or shortly before the episode would end."""
    env = made(env_id)
    env.action_space.seed(SEED)
    env.reset(seed=SEED)
    picture = env.render()
    for _ in range(steps):
        _, _, terminated, truncated, _ = env.step(env.action_space.sample())
        if terminated or truncated:
            break
        picture = env.render()
    env.close()
    return Image.fromarray(picture)


def made(env_id: str) -> Any:
    if env_id.startswith("ALE/"):
        import ale_py

        gymnasium.register_envs(ale_py)
    size = {"width": 720, "height": 480} if "mujoco" in str(gymnasium.spec(env_id).entry_point) else {}
    return gymnasium.make(env_id, render_mode="rgb_array", disable_env_checker=True, **size)


def framed(picture: Image.Image) -> Image.Image:
    """The whole picture in a frame of SIZE; what its shape leaves free on both sides goes on as its edges do."""
    width, height = SIZE
    whole = picture.resize((min(width, round(picture.width * height / picture.height)), height))
    if whole.width == width:
        return picture.resize(SIZE)
    frame, left = Image.new("RGB", SIZE), (width - whole.width) // 2
    frame.paste(whole.crop((0, 0, 1, height)).resize((left, height)), (0, 0))
    frame.paste(
        whole.crop((whole.width - 1, 0, whole.width, height)).resize((left + 1, height)), (left + whole.width - 1, 0)
    )
    frame.paste(whole, (left, 0))
    return frame


def packed(picture: Image.Image) -> bytes:
    """As WebP in the best quality that MOST_BYTES hold."""
    for quality in (90, 80, 70, 60, 50, 40, 30):
        content = io.BytesIO()
        picture.save(content, "WEBP", quality=quality, method=6)
        if content.tell() <= MOST_BYTES:
            break
    return content.getvalue()


if __name__ == "__main__":
    main(sys.argv[1:])
