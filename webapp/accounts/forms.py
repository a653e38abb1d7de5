"""The forms of signing in and of API tokens."""

from typing import Any

from django import forms

from webapp.accounts.models import Role, Scope
from webapp.accounts.services import LIFETIMES

LIFETIME_CHOICES = [*((str(days), f"in {days} days") for days in LIFETIMES), ("", "never")]


class SignInForm(forms.Form):
    """Name and password."""

    username = forms.CharField(
        label="Name",
        max_length=150,
        initial="owner",
        widget=forms.TextInput(attrs={"autocomplete": "username", "autocapitalize": "none", "spellcheck": "false"}),
    )
    password = forms.CharField(
        max_length=1000,
        strip=False,
        widget=forms.PasswordInput(attrs={"autocomplete": "current-password", "autofocus": True}),
    )


class TokenForm(forms.Form):
    """What a new token is for."""

    name = forms.CharField(
        label="Name",
        max_length=80,
        widget=forms.TextInput(attrs={"placeholder": "for example: laptop notebook", "autocomplete": "off"}),
    )
    scope = forms.ChoiceField(label="It may", choices=Scope.choices)
    lifetime = forms.TypedChoiceField(
        label="Expires", choices=LIFETIME_CHOICES, coerce=int, empty_value=None, required=False, initial="90"
    )

    def __init__(self, *args: Any, scopes: list[Scope], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field = self.fields["scope"]
        assert isinstance(field, forms.ChoiceField)
        field.choices = [(scope.value, scope.label) for scope in scopes]
        # A program that names no scope gets what tokens always had: all that its person may do.
        field.required = False
        self.initial["scope"] = Scope.RUN if Scope.RUN in scopes else scopes[-1]


class PasswordForm(forms.Form):
    """A new password, twice."""

    password = forms.CharField(
        label="New password",
        max_length=1000,
        strip=False,
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}),
    )
    again = forms.CharField(
        label="The same again",
        max_length=1000,
        strip=False,
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}),
    )

    def clean(self) -> dict[str, Any]:
        values = super().clean() or {}
        if values.get("password") != values.get("again"):
            self.add_error("again", "The two passwords differ; nothing was changed.")
        return values


class InviteForm(forms.Form):
    """Who is to get an account."""

    name = forms.CharField(
        label="Name",
        max_length=150,
        widget=forms.TextInput(attrs={"autocomplete": "off", "autocapitalize": "none", "spellcheck": "false"}),
    )
    role = forms.ChoiceField(label="Role", choices=Role.choices, initial=Role.RUNNER)
