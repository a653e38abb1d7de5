"""Django's settings, made from the environment. `webapp/environment.py` says what each variable may hold."""

import os
from pathlib import Path

import django_stubs_ext
import plotly

from webapp import environment
from webapp.embedded import registry

django_stubs_ext.monkeypatch()

BASE_DIR = environment.REPOSITORY
PODRACER_HOME = environment.home_folder()
HOST = environment.host_configured()
PORT = environment.port_configured()

DEBUG = False
SECRET_KEY = environment.secret_key(PODRACER_HOME)
ALLOWED_HOSTS = environment.allowed_hosts()
CSRF_TRUSTED_ORIGINS = environment.allowed_origins()

DATABASE_URL = os.environ.get("DATABASE_URL") or registry.database_url(PODRACER_HOME)
REDIS_URL = environment.broker_url(os.environ.get("REDIS_URL") or registry.redis_url(PODRACER_HOME))
STORAGE_URL = os.environ.get("STORAGE_URL") or (PODRACER_HOME / "storage").as_uri()

_database = environment.database_address(DATABASE_URL)
DATABASES = {
    "default": {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": _database.name,
        "USER": _database.user,
        "PASSWORD": _database.password,
        "HOST": _database.host,
        "PORT": _database.port,
        # Under ASGI every request may run in a thread of its own; a connection kept open would stay with a
        # thread that is gone.
        "CONN_MAX_AGE": 0,
        "OPTIONS": {"connect_timeout": 5, "application_name": "podracer", **_database.options},
    }
}

CHANNEL_LAYERS = {
    "default": {
        "BACKEND": "channels_redis.core.RedisChannelLayer",
        "CONFIG": {
            # Above the 5 s for which the layer waits for a message; redis-py's own limit is as long, and the
            # sockets of viewers to whom nothing happens would be closed by it.
            "hosts": [{"address": REDIS_URL, "socket_timeout": 15}],
            "prefix": "podracer",
            "capacity": 1000,
            "expiry": 30,
        },
    }
}

INSTALLED_APPS = [
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "whitenoise.runserver_nostatic",
    "django.contrib.staticfiles",
    "channels",
    "ninja",
    "django_htmx",
    "webapp.embedded",
    "webapp.accounts",
    "webapp.tournaments",
]

MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "webapp.streaming.StaticFilesMiddleware",
    "webapp.security.ContentSecurityPolicyMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "webapp.guard.SharedLinkMiddleware",
    "webapp.accounts.middleware.TokenAuthenticationMiddleware",
    "webapp.accounts.middleware.SignInRequiredMiddleware",
    "webapp.guard.GuardMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
]

ROOT_URLCONF = "webapp.urls"
ASGI_APPLICATION = "webapp.asgi.application"

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
        },
    }
]

AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in (
        "UserAttributeSimilarityValidator",
        "MinimumLengthValidator",
        "CommonPasswordValidator",
        "NumericPasswordValidator",
    )
]
LOGIN_URL = "accounts:sign-in"
LOGIN_REDIRECT_URL = "/"

DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
LANGUAGE_CODE = "en"
USE_I18N = False
USE_TZ = True
TIME_ZONE = "UTC"

STATIC_URL = "/static/"
STATIC_ROOT = PODRACER_HOME / "static"
# Plotly's own bundle, from the package that draws the figures: the page and the server never disagree.
STATICFILES_DIRS: list[Path | tuple[str, Path]] = [
    BASE_DIR / "static",
    ("vendor", Path(plotly.__file__).parent / "package_data"),
]
_storage = environment.storage_parse(STORAGE_URL)
STORAGES: dict[str, dict[str, object]] = {
    "default": (
        {
            "BACKEND": "django.core.files.storage.FileSystemStorage",
            "OPTIONS": {"location": _storage.folder},
        }
        if isinstance(_storage, environment.FileStorage)
        else {
            "BACKEND": "storages.backends.s3.S3Storage",
            "OPTIONS": {
                "bucket_name": _storage.bucket,
                "location": _storage.prefix,
                "endpoint_url": _storage.endpoint,
                "region_name": _storage.region,
            },
        }
    ),
    "staticfiles": {"BACKEND": "whitenoise.storage.CompressedManifestStaticFilesStorage"},
}

SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"
CSRF_COOKIE_SAMESITE = "Lax"
# Behind a proxy that ends TLS and says so; without such an origin the dashboard is plain HTTP.
_served_by_https = any(origin.startswith("https://") for origin in CSRF_TRUSTED_ORIGINS)
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = _served_by_https
if _served_by_https:
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
DATA_UPLOAD_MAX_MEMORY_SIZE = 2_500_000

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"line": {"format": "{asctime} {levelname} {name}: {message}", "style": "{"}},
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "line"}},
    "root": {"handlers": ["stderr"], "level": "INFO"},
    "loggers": {
        "django": {"handlers": [], "level": "INFO", "propagate": True},
        "django.server": {"handlers": [], "level": "INFO", "propagate": True},
    },
}
