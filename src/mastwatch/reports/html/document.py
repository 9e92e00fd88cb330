"""The frame of every page: one file, nothing loaded from elsewhere, nothing else can run in it.

The policy names the page's own style sheet and script by their hashes. Script or style that got
into the page past the escaping would still not be run by a browser.
"""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from importlib import resources

from mastwatch.reports.html.markup import Child, Html, el, join


def document(title: str, body: Child, *, css: tuple[str, ...], js: tuple[str, ...] = ()) -> str:
    """A whole page.

    Args:
        title: For the window.
        body: Content.
        css: Style sheets of this package, by file name.
        js: Scripts of this package, by file name.
    """
    style, script = _asset(css), _asset(js)
    head = el(
        "head",
        el("meta", charset="utf-8"),
        el("meta", http_equiv="Content-Security-Policy", content=_policy(style, script)),
        el("meta", name="viewport", content="width=device-width, initial-scale=1"),
        el("meta", name="color-scheme", content="light dark"),
        el("meta", name="referrer", content="no-referrer"),
        el("meta", name="generator", content="mastwatch"),
        el("title", title),
        el("style", style),
    )
    page = el("html", head, el("body", body, el("script", script) if script else None), lang="en")
    return f"<!doctype html>\n{page}\n"


def _policy(style: str, script: str) -> str:
    scripts = f"script-src '{_hash(script)}'; " if script else ""
    return (
        f"default-src 'none'; style-src '{_hash(style)}'; {scripts}"
        "base-uri 'none'; form-action 'none'"
    )


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"sha256-{base64.b64encode(digest).decode()}"


@cache
def _asset(names: tuple[str, ...]) -> Html:
    folder = resources.files("mastwatch.reports.html")
    texts = [folder.joinpath(name).read_text(encoding="utf-8") for name in names]
    return join(*map(Html, texts))
