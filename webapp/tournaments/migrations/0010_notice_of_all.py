import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('tournaments', '0009_keeping'),
    ]

    operations = [
        migrations.AlterField(
            model_name='notice',
            name='tournament',
            field=models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='notices', to='tournaments.tournament'),
        ),
    ]
