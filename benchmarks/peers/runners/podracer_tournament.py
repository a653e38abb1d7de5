"""Podracer's tournament without a server, `podracer_core tournament`, in the mode that the job names.

Two tournaments: one ends when its target is confirmed, the other, from scratch, when all agents together have trained
as many env steps as scores are compared after, if they are. Both are paid for on their own clock, with pods that start
and import, evaluations of 20 episodes, those again on fresh seeds, and 100 more that confirm the target. What the best
agent of any moment is worth is played afterwards, by 20 fresh episodes of its checkpoint in Gymnasium: the best by
Podracer's own leaderboard, and not, as for peers, the best of all looks.
"""

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np

from benchmarks.peers.contests import SEARCHES
from benchmarks.peers.job import Answer, Job, answer
from benchmarks.peers.tally import EPISODES
from benchmarks.peers.training import Evaluator
from podracer_core.checkpoint import load_agent
from podracer_core.envs import known
from podracer_core.local.home import Home
from podracer_core.local.records import AgentRecord

ROUNDS_TO_COMPARE = 8
"""Rounds of training that the env steps to compare after are divided into."""


def population(job: Job) -> Answer:
    with tempfile.TemporaryDirectory() as folder:
        to_target, to_steps = Path(folder) / "to-target", Path(folder) / "to-steps"
        assert job.cap is not None
        stop: dict[str, Any] = {"score": job.target, "hours": job.cap / 3600}
        first = _tournament(job, to_target, {"round": {"env_steps": _round(job)}, "stop": stop})
        busy = _busy(job, to_target, first)
        found = {
            "env_id": job.env_id,
            "algorithm": job.algorithm,
            "seed": job.seed,
            "reached_target": str(first["reason"]).startswith("The target score"),
            "seconds": first["seconds"],
            "env_steps": first["env_steps"],
            "score": _score(job, to_target, first["leaderboard"]),
            "agents": sum(first["pods"].values()),
        } | busy
        if job.env_steps is None:
            return found
        rounds = {"env_steps": job.env_steps // ROUNDS_TO_COMPARE}
        stop = {"env_steps": job.env_steps, "hours": job.cap / 3600}
        second = _tournament(job, to_steps, {"round": rounds, "stop": stop})
        return found | {
            "total_seconds": second["seconds"],
            "total_env_steps": second["env_steps"],
            "looks": list(_looks(job, to_steps)),
        }


def _round(job: Job) -> int:
    """The catalogue's, whose agents train on in the next; random search's have but one, their whole training."""
    entry = known.environment_check(job.env_id)
    return entry.default_env_steps if job.mode == "random_search" else entry.default_round_env_steps


def _tournament(job: Job, home: Path, rest: dict[str, Any]) -> dict[str, Any]:
    """What its last line says."""
    search = SEARCHES[job.env_id]
    space = {
        "learning_rate": {"loguniform": search.learning_rate},
        "clip_coef": {"uniform": search.clip_coef},
        "ent_coef": {"uniform": search.ent_coef},
    }
    spec = {
        "name": f"{job.mode} {home.name} {job.seed}",
        "env_id": job.env_id,
        "seed": job.seed,
        "algorithms": [{"name": job.algorithm, "search_space": space}],
        "pool": {"size": job.slots, "device": "cpu"},
        "leaderboard": {"eval_episodes": EPISODES},
        "generator": {"mode": job.mode},
        **rest,
    }
    file = home.with_suffix(".json")
    file.write_text(json.dumps(spec))
    command = [sys.executable, "-m", "podracer_core", "tournament", str(file), "--home", str(home), "--json"]
    command += ["--slots", str(job.slots), "--threads", str(job.threads)]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(done.stderr or done.stdout)
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def _busy(job: Job, folder: Path, said: dict[str, Any]) -> dict[str, float]:
    """The share of slot time inside pods, which train and evaluate, and load and save within milliseconds."""
    inside = sum(agent.seconds for agent in _read(folder).agents.values())
    return {"pod_seconds": round(inside, 2), "busy": round(min(1.0, inside / (job.slots * said["seconds"])), 4)}


def _looks(job: Job, folder: Path) -> Iterator[tuple[float, int, float]]:
    """(seconds, env steps of all agents, score) whenever another agent became the best: by its own evaluation chosen,
    by 20 others judged."""
    home = _read(folder)
    assert home.tournament is not None
    scored = sorted((a for a in home.agents.values() if a.scored is not None), key=lambda agent: agent.scored or 0)
    best: AgentRecord | None = None
    for agent in scored:
        if best is not None and agent.entry.score <= best.entry.score:
            continue
        best, at = agent, agent.ended_at or 0.0
        env_steps = sum(_steps_by(home, other, at) for other in home.agents.values())
        seconds = at - home.tournament.started_at
        yield round(seconds, 2), env_steps, _play(job, home.checkpoint_file(agent.index))


def _steps_by(home: Home, agent: AgentRecord, at: float) -> int:
    """Env steps that `agent` had trained at that Unix time: by its learning curve, where it trained on."""
    assert agent.ended_at is not None
    if agent.ended_at <= at:
        return agent.env_steps
    began = agent.ended_at - agent.seconds
    return max((steps for steps, seconds, *_ in home.curve(agent.index) if began + seconds <= at), default=0)


def _score(job: Job, folder: Path, leaderboard: list[dict[str, Any]]) -> float | None:
    return _play(job, Path(leaderboard[0]["checkpoint"])) if leaderboard else None


def _play(job: Job, checkpoint: Path | None) -> float:
    assert checkpoint is not None
    evaluate = Evaluator(load_agent(checkpoint).act, lambda: gymnasium.make(job.env_id))
    seed = int(np.random.SeedSequence([job.seed, 20]).generate_state(1)[0])
    return round(float(np.mean(evaluate(EPISODES, seed))), 3)


def _read(folder: Path) -> Home:
    home = Home(folder)
    home.read()
    return home


if __name__ == "__main__":
    gymnasium.logger.min_level = gymnasium.logger.ERROR
    answer({"population": population})
