"""One thread and a known seed: what is drawn here is the same in every run."""

import pytest
import torch


@pytest.fixture(autouse=True)
def _torch() -> None:
    torch.set_num_threads(1)
    torch.manual_seed(0)
