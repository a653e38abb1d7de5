# Podracer's one image: web, worker, scheduler and preparation differ by their command (docker-compose.yml).

FROM python:3.12.12-slim-bookworm AS packages
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1
RUN python -m venv /opt/podracer
COPY requirements.txt /tmp/requirements.txt
RUN /opt/podracer/bin/pip install --requirement /tmp/requirements.txt

FROM python:3.12.12-slim-bookworm
RUN groupadd --system --gid 10001 podracer \
    && useradd --system --uid 10001 --gid podracer --home-dir /srv/podracer --no-create-home podracer \
    && install --directory --owner=podracer --group=podracer --mode=0700 /srv/podracer
# MuJoCo draws replays through EGL, without a display and where need be without a GPU.
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install --yes --no-install-recommends libegl1 libgl1 libgl1-mesa-dri \
    && rm -rf /var/lib/apt/lists/*
COPY --from=packages /opt/podracer /opt/podracer
WORKDIR /app
COPY manage.py ./
COPY pyproject.toml ./
COPY podracer_core podracer_core
COPY workers workers
COPY webapp webapp
COPY templates templates
COPY static static
ENV PATH=/opt/podracer/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    PYTHONDONTWRITEBYTECODE=1 \
    PODRACER_HOME=/srv/podracer \
    HOST=0.0.0.0 \
    PORT=8000
USER 10001:10001
VOLUME /srv/podracer
EXPOSE 8000
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s --retries=6 \
    CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8000/readyz', timeout=4)"]
CMD ["python", "-m", "uvicorn", "webapp.asgi:application", "--host", "0.0.0.0", "--port", "8000", "--lifespan", "off", "--no-access-log", "--timeout-graceful-shutdown", "5", "--ws-per-message-deflate", "false"]
