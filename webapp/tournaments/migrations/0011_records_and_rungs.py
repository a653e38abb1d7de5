from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('tournaments', '0009_keeping'),
    ]

    operations = [
        migrations.AddField(
            model_name='event',
            name='data',
            field=models.JSONField(default=dict),
        ),
    ]
