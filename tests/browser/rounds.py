"""A finished tournament of many pods in a stack's database, and word of all of them, as often as a line is read.

Prints the tournament's id, and after each line the revision of what it told.
"""

import os
import sys

PODS = 1000


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "webapp.settings")
    import django

    django.setup()
    from django.contrib.auth.models import User

    from benchmarks.many_rows import tournaments_write
    from webapp.tournaments.models import Pod

    owner = User.objects.earliest("pk")
    (identity,) = tournaments_write(owner, [PODS], board=8, points=2)
    print(identity, flush=True)
    pods = list(Pod.objects.filter(tournament=identity).values_list("pk", flat=True))
    for _ in sys.stdin:
        print(tell(identity, pods), flush=True)


def tell(identity: int, pods: list[int]) -> int:
    from django.db import transaction

    from webapp.tournaments import events
    from webapp.tournaments.models import Tournament

    with transaction.atomic():
        for pod in pods:
            events.publish(identity, "pod", pod)
        return Tournament.objects.values_list("revision", flat=True).get(pk=identity)


if __name__ == "__main__":
    main()
