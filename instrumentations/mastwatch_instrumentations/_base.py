"""What instrumentors that wrap methods have in common: install once, report, let go."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

from mastwatch.instrumentor import DidNotEnable, Instrumentor
from mastwatch_instrumentations._patch import Patches

if TYPE_CHECKING:
    from mastwatch.spans.emit import Emitter


class PatchingInstrumentor(Instrumentor):
    """An instrumentor that wraps methods on its library's classes; say in ``patch`` which.

    Attributes:
        acts: What its hooks can do to runs where the host lets us act.
    """

    acts: ClassVar[tuple[str, ...]] = ("halt", "nudge")

    def __init__(self) -> None:
        self._patches: Patches | None = None
        self._status: Mapping[str, bool] = {}

    def patch(self, emitter: Emitter, patches: Patches) -> Mapping[str, bool]:
        """Wrap the methods, and import here what needs the library.

        Args:
            emitter: Told what the hooks see.
            patches: Wraps, and unwraps at ``uninstall``.

        Returns:
            Each method and whether the library has it; may grow while the app runs.

        Raises:
            DidNotEnable: The library lacks what the hooks cannot do without.
            ImportError: The same.
        """
        raise NotImplementedError

    def install(self, emitter: Emitter) -> None:
        """Wrap the methods, once.

        Raises:
            DidNotEnable: The library lacks what the hooks cannot do without.
        """
        if self._patches is not None:
            return
        self._patches = Patches()
        try:
            self._status = self.patch(emitter, self._patches)
        except DidNotEnable:
            self.uninstall()
            raise
        except ImportError as error:
            self.uninstall()
            raise DidNotEnable(f"this {self.library} is not what we know: {error}") from error

    def hooks(self) -> dict[str, bool]:
        """Each wrapped method, and whether this version has it."""
        return dict(self._status)

    def intervene(self) -> tuple[str, ...]:
        """Nothing to prepare: the hooks in place look for orders."""
        return self.acts

    def uninstall(self) -> None:
        """Make the hooks inert and unwrap what is still on top."""
        patches, self._patches, self._status = self._patches, None, {}
        if patches is not None:
            patches.undo()
