"""How many env steps each new pod of a tournament may train."""

from podracer_core.spec import TournamentSpec


def round_budgets(spec: TournamentSpec, room: int, taken: int) -> list[int | None]:
    """Env steps for each of at most `room` new pods, None where only seconds end a round.

    A tournament's budget of which `taken` are spent or promised is shared out among them where it is too short for
    whole rounds, so that the last pods are scored as well.
    """
    whole = spec.round.env_steps
    if spec.stop.env_steps is None:
        return [whole] * room
    budgets: list[int | None] = []
    for pods_to_come in range(room, 0, -1):
        left = spec.stop.env_steps - taken
        if left <= 0:
            break
        share = -(-left // pods_to_come)
        budgets.append(min(whole, share) if whole else share)
        taken += budgets[-1] or 0
    return budgets
