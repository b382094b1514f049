"""Confirmation: a second worker computes some runs, and the answer of the first is kept once the second says the same."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from dumbbell.executor.cluster import Answer, Worker
from dumbbell.running.cluster.batch import Computed
from dumbbell.running.cluster.queue import Piece
from dumbbell.running.sweep import Jobs

CHECKED = 1000
"""One of so many runs is computed twice."""
_TRIES = 3
"""Second workers that may give no answer."""


@dataclass
class Held:
    """A worker's answer, held until each of its runs that is to be confirmed is."""

    piece: Piece
    first: Answer[Computed]
    left: set[int]
    """Positions that are not confirmed."""


@dataclass(eq=False)
class Check:
    """A run that is recomputed."""

    position: int
    held: Held
    tries: int = 0


@dataclass
class Confirmations:
    """The checks that no worker has."""

    jobs: Jobs
    chosen: frozenset[int]
    """The positions of the runs that are computed twice."""
    _checks: deque[Check] = field(default_factory=deque)

    @classmethod
    def of(cls, jobs: Jobs, todo: Sequence[int]) -> Confirmations:
        """Return the confirmations of these runs: one in `CHECKED` of them is chosen."""
        return cls(jobs, frozenset(todo[CHECKED - 1 :: CHECKED]))

    def __bool__(self) -> bool:
        return bool(self._checks)

    def hold(self, piece: Piece, first: Answer[Computed]) -> bool:
        """True if runs of a piece are to be confirmed before it is kept; then it waits here."""
        assert first.value is not None  # or there is nothing to keep
        left = {position for position in piece.positions if position in self.chosen and self.jobs.key(position) in first.value.seals}
        held = Held(piece, first, left)
        self._checks.extend(Check(position, held) for position in sorted(left))
        return bool(left)

    @property
    def held(self) -> set[Piece]:
        """Return the pieces that wait here."""
        return {check.held.piece for check in self._checks}

    def discard(self, workers: Collection[str]) -> set[Piece]:
        """Forget the answers of these workers. Return their pieces."""
        lost = [check for check in self._checks if check.held.first.worker.address in workers]
        for check in lost:
            self._checks.remove(check)
        return {check.held.piece for check in lost}

    def next(self, worker: Worker, able: Sequence[str]) -> Check | None:
        """Return a check for a worker that can run these engines: of a run that another worker computed."""
        for check in self._checks:
            if check.held.first.worker.address != worker.address and self.jobs.engine(check.position) in able:
                self._checks.remove(check)
                return check
        return None

    def settle(self, check: Check, answer: Answer[Computed]) -> bool:
        """Take the answer of a second worker. Return False if it differs. Without an answer another worker is asked, a few times."""
        key = self.jobs.key(check.position)
        seal = None if answer.value is None else answer.value.seals.get(key)
        if seal is None and check.tries + 1 < _TRIES:
            self._checks.append(Check(check.position, check.held, check.tries + 1))
            return True
        check.held.left.discard(check.position)
        assert check.held.first.value is not None  # it has a seal
        return seal in (None, check.held.first.value.seals[key])

    def give_up(self, first: Worker | None = None, engines: Sequence[str] | None = None) -> list[Held]:
        """Stop waiting for second workers that do not come. Return the pieces that have nothing left to be confirmed.

        Without `first` it applies to all runs, otherwise to those that this worker computed on other engines than `engines`.
        """
        possible = engines or ()

        def alone(check: Check) -> bool:
            return first is None or (check.held.first.worker.address == first.address and self.jobs.engine(check.position) not in possible)

        lost = list(filter(alone, self._checks))
        for check in lost:
            self._checks.remove(check)
            check.held.left.discard(check.position)
        found = {id(check.held): check.held for check in lost}
        return [held for held in found.values() if not held.left]
