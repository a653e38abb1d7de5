import django.db.models.deletion
from django.db import migrations, models
from django.db.models import F, Q

COUNT = """
    UPDATE tournaments_tournament tournament
    SET pods_failed = pods.failed, pods_stopped = pods.stopped, pods_retried = pods.retried
    FROM (
        SELECT tournament_id, count(*) FILTER (WHERE status = 'FAILED') failed,
            count(*) FILTER (WHERE status = 'STOPPED') stopped, count(*) FILTER (WHERE losses > 0) retried
        FROM tournaments_pod GROUP BY tournament_id
    ) pods
    WHERE pods.tournament_id = tournament.id;
    UPDATE tournaments_tournament tournament SET events_recorded = events.recorded
    FROM (SELECT tournament_id, count(*) recorded FROM tournaments_event GROUP BY tournament_id) events
    WHERE events.tournament_id = tournament.id;
"""

HALVING = """
    SELECT id, (spec #>> '{generator,rungs}')::int rungs, (spec #>> '{generator,reduction_factor}')::int factor
    FROM tournaments_tournament WHERE spec #>> '{generator,mode}' = 'successive_halving'
"""

MARK = f"""
    UPDATE tournaments_agent agent SET promotable = true FROM ({HALVING}) tournament
    WHERE agent.tournament_id = tournament.id AND agent.kind = 'agent' AND agent.score IS NOT NULL
        AND agent.stage < tournament.rungs - 1
        AND NOT EXISTS (SELECT FROM tournaments_agent heir WHERE heir.inherits_from_id = agent.id);
"""

RANK = f"""
    INSERT INTO tournaments_rung (tournament_id, level, scored, cut_score, cut_index)
    SELECT tournament_id, stage, scored, CASE WHEN scored >= factor THEN score END,
        CASE WHEN scored >= factor THEN index END
    FROM (
        SELECT agent.tournament_id, agent.stage, agent.score, agent.index, tournament.factor,
            count(*) OVER (PARTITION BY agent.tournament_id, agent.stage) scored,
            row_number() OVER (PARTITION BY agent.tournament_id, agent.stage ORDER BY agent.score DESC, agent.index) place
        FROM tournaments_agent agent JOIN ({HALVING}) tournament ON tournament.id = agent.tournament_id
        WHERE agent.kind = 'agent' AND agent.score IS NOT NULL AND agent.stage < tournament.rungs - 1
    ) ranked
    WHERE place = greatest(1, scored / factor);
"""


class Migration(migrations.Migration):

    dependencies = [
        ('tournaments', '0010_notice_of_all'),
    ]

    operations = [
        migrations.AddField(
            model_name='event',
            name='data',
            field=models.JSONField(default=dict),
        ),
        migrations.AlterField(
            model_name='tournament',
            name='best_history',
            field=models.JSONField(default=list, help_text='new best scores in order: the first and the latest'),
        ),
        migrations.AddField(
            model_name='tournament',
            name='pods_failed',
            field=models.PositiveIntegerField(default=0),
        ),
        migrations.AddField(
            model_name='tournament',
            name='pods_stopped',
            field=models.PositiveIntegerField(default=0),
        ),
        migrations.AddField(
            model_name='tournament',
            name='pods_retried',
            field=models.PositiveIntegerField(default=0, help_text='pods of which an attempt was lost'),
        ),
        migrations.AddField(
            model_name='tournament',
            name='events_recorded',
            field=models.PositiveIntegerField(default=0),
        ),
        migrations.AddField(
            model_name='agent',
            name='promotable',
            field=models.BooleanField(default=False),
        ),
        migrations.CreateModel(
            name='Rung',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('level', models.PositiveSmallIntegerField()),
                ('scored', models.PositiveIntegerField(default=0)),
                ('cut_score', models.FloatField(help_text='null: there are too few yet', null=True)),
                ('cut_index', models.PositiveIntegerField(null=True)),
                ('tournament', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='rungs', to='tournaments.tournament')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('tournament', 'level'), name='rung_unique')],
            },
        ),
        migrations.RunSQL(COUNT, migrations.RunSQL.noop, elidable=True),
        migrations.RunSQL(MARK, migrations.RunSQL.noop, elidable=True),
        migrations.RunSQL(RANK, migrations.RunSQL.noop, elidable=True),
        migrations.RemoveIndex(model_name='agent', name='agent_best_of_stage'),
        migrations.RemoveIndex(model_name='agent', name='agent_with_state'),
        migrations.AddIndex(
            model_name='agent',
            index=models.Index(F('tournament'), F('stage'), F('score') * -1, F('index'), name='agent_best_of_stage'),
        ),
        migrations.AddIndex(
            model_name='agent',
            index=models.Index(
                F('tournament'),
                F('stage'),
                F('score') * -1,
                F('index'),
                condition=~Q(state_file='') & Q(promotable=True),
                name='agent_promotable',
            ),
        ),
        migrations.AddIndex(
            model_name='agent',
            index=models.Index(
                condition=~Q(state_file='') & Q(promotable=False), fields=['tournament'], name='agent_state'
            ),
        ),
        migrations.AddIndex(
            model_name='pod',
            index=models.Index(
                condition=Q(status='FAILED'), fields=['tournament', '-finished_at', '-id'], name='pod_failures'
            ),
        ),
    ]
