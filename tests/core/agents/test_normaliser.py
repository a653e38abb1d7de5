"""Running statistics."""

import torch

from podracer_core.agents.normaliser import ObservationNormaliser, RewardScaler, RunningStatistics

CPU = torch.device("cpu")


def test_batches_merge_to_the_statistics_of_all_rows() -> None:
    rows = torch.randn(100, 3) * torch.tensor([1.0, 50.0, 1e-3]) + 1000
    statistics = RunningStatistics(3, CPU)
    for batch in rows.split(7):
        statistics.update(batch)
    torch.testing.assert_close(statistics.mean, rows.double().mean(0))
    torch.testing.assert_close(statistics.var, rows.double().var(0, correction=0))


def test_observations_come_out_with_mean_0_and_deviation_1_and_applying_changes_nothing() -> None:
    normaliser = ObservationNormaliser(2, CPU)
    rows = torch.randn(500, 2) * torch.tensor([1.0, 0.01]) + torch.tensor([5.0, -1.0])
    torch.testing.assert_close(normaliser.apply(rows), rows)  # before the first update
    normaliser.update(rows)
    before = normaliser.scale.clone(), normaliser.shift.clone()
    normal = normaliser.apply(rows)
    torch.testing.assert_close(normal.mean(0), torch.zeros(2), atol=1e-3, rtol=0)
    torch.testing.assert_close(normal.std(0, correction=0), torch.ones(2), atol=1e-3, rtol=0)
    assert normaliser.apply(rows * 1e9).abs().max() == 10
    assert torch.equal(before[0], normaliser.scale)
    assert torch.equal(before[1], normaliser.shift)


def test_rewards_are_scaled_and_keep_their_sign() -> None:
    scaler = RewardScaler(4, 0.9, CPU)
    reward = -torch.rand(64, 4) * 1000
    scaled = scaler.apply(reward, torch.zeros(64, 4, dtype=torch.bool))
    assert (scaled <= 0).all()
    torch.testing.assert_close(scaled / scaled.sum(), reward / reward.sum())
    assert 0.01 < scaled.abs().mean() < 5
