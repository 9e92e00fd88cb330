"""The modes as the judge is told them, and files with modes of your own."""

from __future__ import annotations

from pathlib import Path

import pytest

from mastwatch import taxonomy
from mastwatch.judge.modes import BadTaxonomy, load, mast

OWN = '[leaks_secrets]\ncode = "X-1"\ndefinition = "A key is shown."\n'


def file(tmp_path: Path, text: str) -> str:
    path = tmp_path / "modes.toml"
    path.write_text(text, encoding="utf-8")
    return str(path)


def test_every_mode_has_a_definition_and_what_it_is_not() -> None:
    assert mast().slugs == tuple(mode.slug for mode in taxonomy.MODES)
    assert all(m.definition and m.look_for and m.not_this for m in mast().modes)
    assert mast().version.startswith(taxonomy.TAXONOMY_VERSION)


def test_modes_of_your_own_stand_beside_ours(tmp_path: Path) -> None:
    found = load(file(tmp_path, OWN))
    assert (len(found.modes), found.modes[-1].code) == (15, "X-1")
    assert found.modes[-1].name == "Leaks secrets"
    assert found.version != mast().version


def test_mast_can_be_left_out(tmp_path: Path) -> None:
    found = load(file(tmp_path, f"mast = false\n{OWN}"))
    assert found.slugs == ("leaks_secrets",)
    assert found.version.startswith("custom+")


def test_what_the_judge_is_told_of_ours_can_be_replaced(tmp_path: Path) -> None:
    found = load(file(tmp_path, '[step_repetition]\ndefinition = "Twice."\n'))
    mode = found.mode("step_repetition")
    assert (mode.code, mode.definition, len(found.modes)) == ("FM-1.3", "Twice.", 14)


def test_some_modes_can_be_chosen_by_slug_or_code() -> None:
    assert load("", ["FM-3.2", "step_repetition"]).slugs == (
        "step_repetition",
        "no_or_incomplete_verification",
    )


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[a]\n", "[a] has no definition"),
        ('[a]\ndefinition = "x"\ncolour = "y"\n', "[a] colour: expected texts"),
        ("[a]\ndefinition = 3\n", "[a] definition: expected texts"),
        ('a = "x"\n', "a is no table"),
        ("mast = false\n", "holds no mode"),
        ('mast = "no"\n[a]\ndefinition = "x"\n', "expected true or false"),
        ('["A b"]\ndefinition = "x"\n', "is no name for a mode"),
        ('[a]\ndefinition = "x"\ncode = "FM-1.3"\n', "two modes have the code FM-1.3"),
        ("[a\n", "cannot be read"),
    ],
)
def test_a_file_that_cannot_be_used_says_where_and_why(
    tmp_path: Path, text: str, says: str
) -> None:
    path = file(tmp_path, text)
    with pytest.raises(BadTaxonomy) as raised:
        load(path)
    assert says in str(raised.value)
    assert path in str(raised.value)


def test_a_file_or_a_mode_that_is_not_there() -> None:
    with pytest.raises(BadTaxonomy, match="cannot be read"):
        load("/nowhere/modes.toml")
    with pytest.raises(BadTaxonomy, match=r"there is no mode FM-9\.9; known: disobey"):
        load("", ["FM-9.9"])
