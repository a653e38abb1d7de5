import django.db.models.deletion
import uuid
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('tournaments', '0007_workers'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='Notice',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('at', models.DateTimeField(auto_now_add=True)),
                ('kind', models.CharField(choices=[('ended', 'It ended'), ('failed', 'It failed'), ('trouble', 'It is in trouble')], max_length=8)),
                ('cause', models.CharField(blank=True, max_length=20)),
                ('text', models.TextField()),
                ('told', models.BooleanField(default=False)),
                ('tournament', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='notices', to='tournaments.tournament')),
            ],
            options={
                'indexes': [models.Index(condition=models.Q(('told', False)), fields=['id'], name='notice_untold')],
            },
        ),
        migrations.CreateModel(
            name='Webhook',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=80)),
                ('url', models.CharField(max_length=500)),
                ('secret', models.CharField(max_length=64)),
                ('kinds', models.JSONField(help_text='of notices that it is sent')),
                ('site', models.CharField(max_length=300)),
                ('failures', models.PositiveIntegerField(default=0)),
                ('disabled_at', models.DateTimeField(null=True)),
                ('disabled_reason', models.TextField(blank=True)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('owner', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='webhooks', to=settings.AUTH_USER_MODEL)),
            ],
        ),
        migrations.CreateModel(
            name='Delivery',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('key', models.UUIDField(default=uuid.uuid4, unique=True)),
                ('status', models.CharField(choices=[('QUEUED', 'Queued'), ('DELIVERED', 'Delivered'), ('FAILED', 'Failed')], default='QUEUED', max_length=9)),
                ('attempts', models.PositiveSmallIntegerField(default=0)),
                ('due_at', models.DateTimeField()),
                ('result', models.TextField(blank=True)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('tried_at', models.DateTimeField(null=True)),
                ('notice', models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='deliveries', to='tournaments.notice')),
                ('webhook', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='deliveries', to='tournaments.webhook')),
            ],
            options={
                'indexes': [models.Index(condition=models.Q(('status', 'QUEUED')), fields=['due_at'], name='delivery_queue')],
            },
        ),
    ]
