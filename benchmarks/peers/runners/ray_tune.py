"""Ray Tune's PBT over RLlib's PPO (new stack), one trial a slot, each in one process of one thread.

PBT as in Ray's own example of it with RLlib's PPO, ray/tune/examples/pbt_ppo_example.py: every 120 s, by
time_total_s, a quarter of the values drawn anew; but actors are not reused, for RLlib's cannot be (they have no
reset_config), and Tune gives up a trial that tries. What is searched starts from draws, as in RLlib's search over
MuJoCo's bodies (rllib/tuned_examples/ppo/benchmark_ppo_mujoco_pb2.py). PPO's other settings are those of RLlib's
examples, rllib/examples/algorithms/ppo: cartpole_ppo.py, pendulum_ppo.py, mujoco_ppo.py; but two layers of 64 as for
everyone.
"""

import logging
import os
import random
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import ray
from ray import tune
from ray.rllib.algorithms.ppo import PPO, PPOConfig
from ray.rllib.connectors.env_to_module import MeanStdFilter
from ray.rllib.core.rl_module.default_model_config import DefaultModelConfig
from ray.tune.schedulers import PopulationBasedTraining
from torch.nn.init import orthogonal_

from benchmarks.peers.contests import SEARCHES
from benchmarks.peers.job import Answer, Job, answer
from benchmarks.peers.runners.ray_looks import FOLDER, JOB, Looking
from benchmarks.peers.runners.rllib import EXAMPLES
from benchmarks.peers.tally import Report, Tally

PERTURBATION_SECONDS, RESAMPLE = 120, 0.25
LAYERS: dict[str, Any] = {"fcnet_hiddens": [64, 64]}

MUJOCO: dict[str, Any] = {
    "num_envs": 16,
    "normalize": True,
    "training": {
        "train_batch_size_per_learner": 2048,
        "minibatch_size": 512,
        "num_epochs": 10,
        "vf_loss_coeff": 1.0,
        "gamma": 0.99,
        "lambda_": 0.95,
        "kl_coeff": 0.5,
        "vf_clip_param": 10.0,
        "grad_clip": 50.0,
        "grad_clip_by": "global_norm",
    },
    "model": {"fcnet_kernel_initializer": orthogonal_, "fcnet_activation": "tanh", "free_log_std": True},
}


def population(job: Job) -> Answer:
    random.seed(job.seed)
    np.random.seed(job.seed)  # what PBT draws from
    with tempfile.TemporaryDirectory() as folder:
        os.environ |= {FOLDER: folder, JOB: job.dump(), "TUNE_DISABLE_STRICT_METRIC_CHECKING": "1"}
        logging.disable(logging.WARNING)
        ray.init(num_cpus=job.slots, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
        tally = Tally(job)
        (Path(folder) / "began").write_text(str(time.time()))
        found = _tuner(job, folder, tally).fit()
        ray.shutdown()
    if found.errors:
        raise found.errors[0]
    return tally.result(agents=job.slots)


def _tuner(job: Job, folder: str, tally: Tally) -> tune.Tuner:
    space = _space(job)
    scheduler = PopulationBasedTraining(
        time_attr="time_total_s",
        perturbation_interval=PERTURBATION_SECONDS,
        resample_probability=RESAMPLE,
        hyperparam_mutations=space,
        require_attrs=False,  # a body's first episodes end after some iterations
    )
    return tune.Tuner(
        PPO,
        param_space=_config(job, space),
        tune_config=tune.TuneConfig(
            scheduler=scheduler,
            num_samples=job.slots,
            metric="env_runners/episode_return_mean",
            mode="max",
        ),
        run_config=tune.RunConfig(storage_path=folder, stop=_Stop(tally), verbose=0),
    )


def _space(job: Job) -> dict[str, Any]:
    search = SEARCHES[job.env_id]
    return {
        "lr": tune.loguniform(*search.learning_rate),
        "clip_param": tune.uniform(*search.clip_coef),
        "entropy_coeff": tune.uniform(*search.ent_coef),
    }


def _config(job: Job, space: dict[str, Any]) -> PPOConfig:
    chosen = EXAMPLES.get(job.env_id, MUJOCO)
    runners: dict[str, Any] = {"num_env_runners": 0, "num_envs_per_env_runner": chosen["num_envs"]}
    if chosen.get("normalize"):
        runners["env_to_module_connector"] = lambda env, spaces, device: MeanStdFilter()
    model = chosen["model"] | LAYERS
    if job.env_id == "CartPole-v1":
        model["fcnet_activation"] = "tanh"  # its example's single linear layer is not what is compared
    return (
        PPOConfig()
        .environment(job.env_id)
        .env_runners(**runners)
        .learners(num_learners=0)
        .training(**chosen["training"] | space)
        .rl_module(model_config=DefaultModelConfig(**model))
        .callbacks(Looking)
        .debugging(seed=tune.randint(0, 2**31))
    )


class _Stop(tune.Stopper):
    """Keeps the account of all trials as their results come."""

    def __init__(self, tally: Tally) -> None:
        self._tally = tally

    def __call__(self, trial_id: str, result: dict[str, Any]) -> bool:
        return self._tally.add(Report(**result["report"]))

    def stop_all(self) -> bool:
        return self._tally.over


if __name__ == "__main__":
    answer({"population": population})
