"""How sockets hear that somebody's access has changed."""

from django.db import transaction

from webapp.publisher import publisher

ACCESS_TYPE = "access.changed"
"""The Channels handler name of the message upon which a socket looks whether it still may be open."""


def group_name(user_id: int) -> str:
    """The channel group of a person's sockets."""
    return f"person.{user_id}"


def publish_access(user_id: int) -> None:
    """Have a person's sockets look, once the transaction has committed, whether they still may be open."""
    transaction.on_commit(lambda: publisher.send(group_name(user_id), ACCESS_TYPE))
