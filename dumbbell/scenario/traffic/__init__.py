"""Traffic that is not bulk, one kind a file. The catalogue has the kinds, and `generated.kinds` lists their classes."""

from __future__ import annotations

from dumbbell.scenario.generated.kinds import *  # noqa: F403
from dumbbell.scenario.generated.kinds import KINDS as KINDS
from dumbbell.scenario.generated.kinds import Background as Background
