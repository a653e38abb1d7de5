"""Podracer itself, as `podracer_core train` trains; it pays for its evaluations and its checkpoint on its own clock."""

import tempfile
import time

import gymnasium
import torch

from benchmarks.locomotion import train_and_replay
from benchmarks.peers.job import Answer, Job, answer
from benchmarks.peers.training import FINAL_EPISODES, Rate, number
from podracer_core.agents.learners import LEARNERS
from podracer_core.agents.ppo import PPO
from podracer_core.device import flush_denormals
from podracer_core.envs import catalogue, known
from podracer_core.envs.vector_env import VectorEnv, make_vector_env
from podracer_core.hyperparameters import PPOHyperparameters, complete
from podracer_core.pod import Pod
from podracer_core.progress import Directive, Outcome, PodResult, Progress
from podracer_core.spec import PodPlan

UPDATES_AT_ONCE = 32


def main() -> None:
    gymnasium.logger.min_level = gymnasium.logger.ERROR
    flush_denormals()
    speeds = {"throughput": throughput, "updates": updates, "stepping": stepping}
    with torch.inference_mode():  # as in a pod
        answer({"to-target": train, "return-at-steps": train} | speeds)


def train(job: Job) -> Answer:
    """One pod, with the catalogue's settings."""
    entry = known.environment_check(job.env_id)
    began = time.perf_counter()

    def directive() -> Directive:
        over = job.cap is not None and time.perf_counter() - began > job.cap
        return Directive.END if over else Directive.CONTINUE

    curve = []
    with tempfile.TemporaryDirectory() as folder:
        plan = PodPlan(
            env_id=job.env_id,
            algorithm=job.algorithm,
            hyperparameters=complete(
                job.algorithm, catalogue.default_hyperparameters(job.env_id, job.algorithm)
            ).model_dump(),
            seed=job.seed,
            num_envs=catalogue.default_num_envs(job.env_id, job.algorithm),
            threads=job.threads,
            env_steps=job.env_steps or entry.default_env_steps,
            eval_episodes=FINAL_EPISODES if job.target is None else 32,
            target_score=job.target,
            directory=folder,
        )
        for message in Pod(plan, directive).run():
            if isinstance(message, Progress) and message.episodic_return is not None:
                curve.append((round(message.seconds, 2), message.env_steps, round(message.episodic_return, 2)))
            if isinstance(message, PodResult):
                return _summary(job, message) | {"curve": curve}
    raise AssertionError("a pod ends with its result")


def _summary(job: Job, result: PodResult) -> Answer:
    if result.outcome is not Outcome.FINISHED:
        raise SystemExit(result.reason or result.outcome)
    confirmed = result.confirmation is not None and job.target is not None and result.confirmation.score >= job.target
    scored = result.confirmation or result.evaluation
    assert scored is not None
    return {
        "env_id": job.env_id,
        "algorithm": job.algorithm,
        "seed": job.seed,
        "env_steps": result.env_steps,
        "seconds": round(result.seconds, 3),
        "env_steps_per_second": round(result.env_steps / result.seconds, 1),
        "score": number(scored.score),
        "score_low": number(scored.score_low),
        "score_high": number(scored.score_high),
        "episodes": scored.episodes,
        "reached_target": confirmed,
    }


def throughput(job: Job) -> Answer:
    """PPO's iterations with the environment's own normalisers, two layers of 64."""
    torch.set_num_threads(job.threads)
    setting = {
        "hidden_size": 64,
        "num_layers": 2,
        "num_steps": job.num_steps,
        "num_epochs": job.num_epochs,
        "num_minibatches": job.batch_rows // job.minibatch_rows,
    }
    tuned = catalogue.default_hyperparameters(job.env_id, "ppo")
    env = make_vector_env(job.env_id, job.num_envs, torch.device("cpu"))
    learner = PPO(env, PPOHyperparameters.model_validate({**tuned, **setting}), job.seed)
    rate = Rate(job.seconds)
    while True:
        learner.iterate(1.0)
        if rate.look(learner.global_step):
            env.close()
            return rate.result("env_steps")


def updates(job: Job) -> Answer:
    """Gradient updates, sampling from the replay buffer included, `UPDATES_AT_ONCE` after every env step."""
    torch.set_num_threads(job.threads)
    env = make_vector_env(job.env_id, 1, torch.device("cpu"))
    setting = {"batch_size": 256, "hidden_size": 256, "num_layers": 2, "activation": "relu"}
    rest = {"learning_starts": 1_000, "buffer_size": 100_000, "utd_ratio": UPDATES_AT_ONCE}
    learner = LEARNERS[job.algorithm](env, complete(job.algorithm, setting, rest), job.seed)
    while learner.global_step < 1_000:
        learner.iterate(1.0)
    rate = Rate(job.seconds)
    while True:
        learner.iterate(1.0)
        if rate.look(learner.global_step * UPDATES_AT_ONCE):
            env.close()
            return rate.result("updates")


def stepping(job: Job) -> Answer:
    """Under random actions; and training's env steps per second over those of stepping along the same course."""
    torch.set_num_threads(job.threads)
    env = make_vector_env(job.env_id, job.num_envs, torch.device("cpu"))
    env.reset(job.seed)
    drawn, steps = _random_actions(env, job.seed), 0
    rate = Rate(job.seconds)
    while not rate.look(steps):
        for actions in drawn:
            env.step(actions)
        steps += len(drawn) * job.num_envs
    env.close()
    trained, replayed = train_and_replay(job.env_id, job.threads, job.num_envs, job.seconds)
    along = {"trained": round(trained), "replayed": round(replayed), "share": round(trained / replayed, 4)}
    return rate.result("env_steps") | along


def _random_actions(env: VectorEnv, seed: int, count: int = 64) -> torch.Tensor:
    """[count, num_envs(, action_dim)], uniform."""
    generator, shape = torch.Generator().manual_seed(seed), (count, env.num_envs)
    if env.action_low is None or env.action_high is None:
        return torch.randint(env.action_dim, shape, generator=generator)
    drawn = torch.rand((*shape, env.action_dim), generator=generator)
    return env.action_low + drawn * (env.action_high - env.action_low)


if __name__ == "__main__":
    main()
