"""The failure modes as the judge is told them, ours and yours."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import blake2b
from importlib import resources
from pathlib import Path
from typing import Any

from mastwatch import taxonomy

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

_KEYS = ("definition", "look_for", "not_this")
_SLUG = re.compile(r"[a-z][a-z0-9_]{0,63}")


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedMode:
    """A failure mode with what the judge must know of it.

    Attributes:
        slug: Its key.
        code: Its display form, ``FM-1.3``; for a mode of your own what you gave it.
        name: In words.
        definition: When it is present.
        look_for: What evidence looks like.
        not_this: What resembles it and is none.
    """

    slug: str
    code: str
    name: str
    definition: str
    look_for: str = ""
    not_this: str = ""


@dataclass(frozen=True, slots=True)
class Taxonomy:
    """The modes that are judged, in their order, and the version that stands on every report."""

    modes: tuple[JudgedMode, ...]
    version: str

    @property
    def slugs(self) -> tuple[str, ...]:
        """Keys of the modes."""
        return tuple(mode.slug for mode in self.modes)

    def mode(self, slug: str) -> JudgedMode:
        """A mode by its key."""
        return next(mode for mode in self.modes if mode.slug == slug)


class BadTaxonomy(ValueError):
    """A file with modes of your own cannot be used; the message says where and why."""


@cache
def mast() -> Taxonomy:
    """The 14 modes of MAST, in our words."""
    text = resources.files("mastwatch.judge").joinpath("modes.toml").read_text(encoding="utf-8")
    told = tomllib.loads(text)
    modes = tuple(
        JudgedMode(slug=mode.slug, code=mode.code, name=mode.name, **told[mode.slug])
        for mode in taxonomy.MODES
    )
    return Taxonomy(modes, f"{taxonomy.TAXONOMY_VERSION}+{told['version']}")


def load(path: str = "", slugs: Sequence[str] = ()) -> Taxonomy:
    """MAST, with or without modes of your own.

    Args:
        path: A TOML file: one table per mode, ``[my_mode]``, with ``definition`` and, if you like,
            ``code``, ``name``, ``look_for``, ``not_this``. A table of a MAST slug replaces what the
            judge is told of that mode; ``mast = false`` at the top leaves MAST out.
        slugs: Only these modes, by slug or code; all when empty.

    Raises:
        BadTaxonomy: The file cannot be used, or a slug is unknown.
    """
    chosen = mast()
    if path:
        chosen = _with_file(chosen, Path(path))
    if not slugs:
        return chosen
    by_key = {key: mode for mode in chosen.modes for key in (mode.slug, mode.code)}
    unknown = [slug for slug in slugs if slug not in by_key]
    if unknown:
        known = ", ".join(chosen.slugs)
        raise BadTaxonomy(f"there is no mode {', '.join(unknown)}; known: {known}")
    picked = tuple(mode for mode in chosen.modes if {mode.slug, mode.code} & set(slugs))
    return Taxonomy(picked, chosen.version)


def _with_file(base: Taxonomy, path: Path) -> Taxonomy:
    try:
        text = path.read_text(encoding="utf-8")
        told = tomllib.loads(text)
    except (OSError, ValueError) as error:
        raise BadTaxonomy(f"{path}: cannot be read: {error}") from None
    keep = told.pop("mast", True)
    if not isinstance(keep, bool):
        raise BadTaxonomy(f"{path}: mast = {keep!r}: expected true or false")
    modes = {mode.slug: mode for mode in base.modes} if keep else {}
    for slug, table in told.items():
        modes[slug] = _own(path, slug, table, {m.slug: m for m in base.modes}.get(slug))
    if not modes:
        raise BadTaxonomy(f"{path}: holds no mode")
    codes = [mode.code for mode in modes.values()]
    twice = sorted({code for code in codes if codes.count(code) > 1})
    if twice:
        raise BadTaxonomy(f"{path}: two modes have the code {', '.join(twice)}")
    digest = blake2b(text.encode(), digest_size=4).hexdigest()
    version = f"{base.version}+{digest}" if keep else f"custom+{digest}"
    return Taxonomy(tuple(modes.values()), version)


def _own(path: Path, slug: str, table: Any, known: JudgedMode | None) -> JudgedMode:
    if not _SLUG.fullmatch(slug):
        raise BadTaxonomy(
            f"{path}: [{slug}] is no name for a mode: small letters, digits and _, letter first"
        )
    if not isinstance(table, Mapping):
        raise BadTaxonomy(f"{path}: {slug} is no table; write [{slug}] and a definition below it")
    allowed = {*_KEYS, "code", "name"}
    wrong = sorted(set(table) - allowed) + sorted(
        key for key, value in table.items() if key in allowed and not isinstance(value, str)
    )
    if wrong:
        raise BadTaxonomy(
            f"{path}: [{slug}] {', '.join(wrong)}: expected texts, named "
            f"{', '.join(sorted(allowed))}"
        )
    if not table.get("definition", "").strip():
        raise BadTaxonomy(f"{path}: [{slug}] has no definition")
    return JudgedMode(
        slug=slug,
        code=table.get("code") or (known.code if known else slug),
        name=table.get("name") or (known.name if known else slug.replace("_", " ").capitalize()),
        **{key: table.get(key, "") for key in _KEYS},
    )
