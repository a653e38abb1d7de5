from typing import Any

from django.core.exceptions import SuspiciousFileOperation
from django.core.files.storage import FileSystemStorage, default_storage
from django.db import migrations, models


def measure_states(apps: Any, schema_editor: Any) -> None:
    """Of files in a folder; those in an object store are counted from the next one on."""
    if not isinstance(default_storage, FileSystemStorage):
        return
    for model in ("Agent", "Pod"):
        rows = apps.get_model("tournaments", model).objects
        for pk, name in rows.exclude(state_file="").values_list("pk", "state_file"):
            try:
                size = default_storage.size(name)
            except (OSError, SuspiciousFileOperation):
                continue
            rows.filter(pk=pk).update(state_size=size)


class Migration(migrations.Migration):

    dependencies = [
        ('tournaments', '0008_notices'),
    ]

    operations = [
        migrations.AddField(
            model_name='tournament',
            name='archived',
            field=models.BooleanField(default=False, help_text='the list leaves it out unless asked for these'),
        ),
        migrations.AddField(
            model_name='agent',
            name='state_size',
            field=models.PositiveBigIntegerField(default=0),
        ),
        migrations.AddField(
            model_name='pod',
            name='state_size',
            field=models.PositiveBigIntegerField(default=0),
        ),
        migrations.RunPython(measure_states, migrations.RunPython.noop, elidable=True),
    ]
