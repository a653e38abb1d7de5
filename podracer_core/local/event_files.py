"""A tournament's folder as event files, for TensorBoard."""

from pathlib import Path

from podracer_core.local.home import Home, HomeError
from podracer_core.local.records import AgentRecord, PodStatus
from podracer_core.tensorboard.run import Evaluation, Run, event_file, run_name


def event_files_write(home: Home, folder: Path) -> int:
    """A folder for each agent within `folder`; returns how many. Raises HomeError where nothing has begun."""
    home.read()
    if home.tournament is None:
        raise HomeError(f"{home.spec.name} in {home.folder} has not begun; there is nothing to write.")
    board = [row.agent for row in home.tournament.leaderboard]
    for index, agent in home.agents.items():
        run = _run(agent, home.tournament.started_at)
        rank = board.index(index) + 1 if index in board else None
        path = folder / run_name(agent.name, rank, len(board)) / run.filename
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("wb") as file:
            file.writelines(event_file(run, home.curve(index)))
    return len(home.agents)


def _run(agent: AgentRecord, tournament_began: float) -> Run:
    began = tournament_began if agent.ended_at is None else agent.ended_at - agent.seconds
    numbers = {name: getattr(agent, name) for name in ("score", "score_low", "score_high", "mean", "iqm")}
    scored = agent.score is not None and agent.ended_at is not None
    return Run(
        started_at=began,
        hyperparameters={
            **{name: getattr(agent, name) for name in ("algorithm", "strategy", "depth", "num_envs")},
            **agent.hyperparameters,
        },
        base_env_steps=agent.base_env_steps,
        evaluation=Evaluation(agent.ended_at or began, agent.env_steps, numbers) if scored else None,
        ended_at=agent.ended_at,
        failed=agent.status is PodStatus.FAILED,
    )
