"""Text as numbers: digests, pieces, words of any script, 3-grams.

All hashes are the same in every process (blake2b, CRC-32; never the salted ``hash()``), so that
fingerprints of findings are stable and the same events always give the same findings.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Sequence
from hashlib import blake2b
from typing import TypeAlias
from zlib import adler32, crc32

TEXT_CAP = 3000
"""Characters of a message that are looked at; keeps the cost flat for long texts."""

Hashes = array  # of "I"; a set of as many ints is ten times the size
Grams: TypeAlias = set[tuple[str, str, str]]

# Han, kana, Thai, Lao, Khmer, Myanmar: written without spaces, so a character is the unit.
_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
)
_WORD = re.compile(r"\w+")
_WORD_OR_SIGN = re.compile(rf"[{_UNSPACED}]|[^\W{_UNSPACED}]+")
_SIGN = re.compile(rf"[{_UNSPACED}]")
_SHORT = 400  # characters; rules ask for 40 words at most, so longer texts need no exact count
_WORD_LETTERS = 6
_LOOKED_AT = 400  # bytes in the middle of a text; greetings and signatures are at its ends
_LONG_WORD = 12

# Where texts are cut into pieces: at letters of which a dozen words hold about two, and at some
# bytes inside other scripts' characters. Any would do, as long as they are always the same.
_CUTS = b"bjkqvxz7\n\x85\x8a\x8f\x9b\xa0\xa5\xb1\xbc"
_IGNORED = b" \t\r.,;:!?*#`'\"()_-"
# Letters between cuts: where it is fewer on the whole, as in text that goes "key1 key2 key3",
# pieces are taken three at a time. Between the two limits both ways are taken, or an edit that
# moves a text across a single one would make all of it look new.
_SMALL, _SMALLISH = 6, 10


def _table() -> bytes:
    low = bytes(range(256)).lower()
    return bytes(10 if b in _CUTS else b for b in low)


_TABLE = _table()


def quick_digest(raw: bytes) -> int:
    """Return a 64-bit identity, never 0, at half the cost of ``digest``.

    It could be forged, which would gain nobody anything: it tells an agent's recent messages apart.
    """
    return (crc32(raw) << 32 | adler32(raw)) or 1


def digest(data: str | bytes) -> int:
    """Return a 64-bit identity, never 0 (0 means "no text")."""
    raw = data.encode("utf-8", "surrogatepass") if isinstance(data, str) else data
    return int.from_bytes(blake2b(raw, digest_size=8).digest(), "big") or 1


def pieces(raw: bytes) -> tuple[set[bytes], int]:
    """Cut a text (UTF-8) at places its own letters set; return the pieces and their whole length.

    They stand for its word 3-grams: an edit changes only the pieces it touches. Cutting with
    ``bytes.translate`` and ``split`` takes 2 us for 800 characters, hashing each 3-gram 60; of a
    long text only the middle is cut.

    >>> one, two = pieces(b"The pump broke down again today")[0], pieces(b"A pump broke down.")[0]
    >>> one & two
    {b'ro'}
    """
    if len(raw) > _LOOKED_AT:
        middle = (min(len(raw), TEXT_CAP) - _LOOKED_AT) // 2
        raw = raw[middle : middle + _LOOKED_AT]
    folded = raw.translate(_TABLE, _IGNORED)
    cut = folded.split(b"\n")
    if len(cut) > 3 and len(folded) < _SMALLISH * len(cut):
        return _joined(cut, len(folded) >= _SMALL * len(cut))
    return set(cut), len(folded) - len(cut) + 1


def _joined(cut: list[bytes], singly: bool) -> tuple[set[bytes], int]:
    threes = [b"".join(three) for three in zip(cut, cut[1:], cut[2:], strict=False)]
    taken = threes + cut if singly else threes
    return set(taken), sum(map(len, taken))


def words(text: str) -> list[str]:
    """Split into casefolded words; characters of scripts without spaces come one by one.

    >>> words("Hello, World"), words("再試一次 now")
    (['hello', 'world'], ['再', '試', '一', '次', 'now'])
    """
    folded = text[:TEXT_CAP].casefold()
    if folded.isascii():
        return _WORD.findall(folded)
    return _WORD_OR_SIGN.findall(folded)


def tokens(text: str) -> list[str]:
    """Split as ``words``, but leave punctuation at words of ASCII texts: seven times as fast."""
    return text[:TEXT_CAP].casefold().split() if text.isascii() else words(text)


def length(text: str) -> int:
    """Count words in a reader's sense: two unspaced characters make one; long texts are guessed.

    >>> length("Hello, world"), length("再試一次 now")
    (2, 3)
    """
    if len(text) > _SHORT:
        return len(text) // _WORD_LETTERS
    signs = 0 if text.isascii() else len(_SIGN.findall(text))
    if not signs:
        # The exact count matters for the shortest only, and costs the most.
        return len(text.split()) if len(text) > _SHORT // 5 else len(_WORD.findall(text))
    return len(_WORD_OR_SIGN.findall(text)) - signs + (signs + 1) // 2


def start(text: str, count: int) -> list[str]:
    """Return the first words of a text; punctuation stays with them where words are spaced."""
    head = text[: count * _LONG_WORD].casefold()
    if not head.isascii() and _SIGN.search(head):
        return words(head)[:count]
    return head.split(None, count)[:count]


def word_hashes(parts: Sequence[str]) -> Hashes[int]:
    """Hash words to 32 bits."""
    return array("I", [crc32(part.encode("utf-8", "surrogatepass")) for part in parts])


def grams(parts: Sequence[str]) -> Grams:
    """Every run of three words (or unspaced characters)."""
    return set(zip(parts, parts[1:], parts[2:], strict=False))


def similarity(a: Grams, b: Grams) -> float:
    """Return the Jaccard similarity of two texts, 0 to 1.

    >>> similarity(grams("a b c d e".split()), grams("a b c d f".split()))
    0.5
    """
    return len(a & b) / len(a | b) if a or b else 0.0


def containment(part: Grams | frozenset[tuple[str, str, str]], whole: Grams) -> float:
    """Return the share of ``part`` that ``whole`` holds, 0 to 1."""
    return len(part & whole) / len(part) if part else 0.0


def probes(text: str, count: int, size: int = 10) -> list[str]:
    """Take fragments from all over a text: what holds none of them is no near copy of it."""
    step = max(1, (len(text) - size) // count)
    return [text[at : at + size] for at in range(step // 2, len(text) - size + 1, step)][:count]


def may_hold(text: str, fragments: Sequence[str], least: int) -> bool:
    """Whether a text holds some of the fragments; a search takes .2 us, comparing texts 20."""
    found = 0
    for fragment in fragments:
        if fragment in text:
            found += 1
            if found == least:
                return True
    return False
