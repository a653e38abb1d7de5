"""SBX: Stable-Baselines3's interface over JAX."""

import jax
from flax import linen
from sbx import PPO, SAC, TD3

from benchmarks.peers.runners.stable_baselines3 import main

if __name__ == "__main__":
    jax.numpy.zeros(1).block_until_ready()  # starting the backend counts as importing it
    main({"ppo": PPO, "sac": SAC, "td3": TD3}, {"relu": linen.relu, "tanh": linen.tanh})
