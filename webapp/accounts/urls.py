"""Addresses of signing in and out, of one's own account, of people and of the audit log."""

from django.urls import URLPattern, path

from webapp.accounts import audit_views, people_views, views

app_name = "accounts"
urlpatterns: list[URLPattern] = [
    path("sign-in/", views.sign_in, name="sign-in"),
    path("sign-in/link/<str:token>/", views.sign_in_link, name="sign-in-link"),
    path("sign-out/", views.sign_out, name="sign-out"),
    path("tokens/", views.tokens, name="tokens"),
    path("tokens/<int:token_id>/revoke/", views.token_revoke, name="token-revoke"),
    path("password/", views.password, name="password"),
    path("people/", people_views.people, name="people"),
    path("people/<int:user_id>/", people_views.person, name="person"),
    path("audit/", audit_views.audit_log, name="audit"),
    path("audit.csv", audit_views.audit_csv, name="audit-csv"),
]
