"""What the tournaments app raises on purpose; each text is a sentence for the person who asked."""


class TournamentError(Exception):
    """The tournament's state does not allow what was asked."""


class PodLostError(Exception):
    """The attempt that writes is no longer the one that the database knows: its lease ran out or it was ended."""


class ArtefactLostError(Exception):
    """The attempt that writes an artefact is no longer the one that the database knows."""
