"""Celery workers: slots that run pods, each in a warm process of its own."""
