"""What is attested and how."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from inference_dna.attest.answers import TIMEOUT_S, Address, Answers
from inference_dna.attest.command_line import with_environment
from inference_dna.attest.engine import Engine
from inference_dna.attest.process import Process, arguments, environment
from inference_dna.measure.devices.nvidia_smi import Run
from inference_dna.measure.work import Work


@dataclass(frozen=True, slots=True)
class Asked:
    """What is attested and how.

    Attributes:
        engine: Kind of the engine.
        address: Where it listens.
        model: Folder or file that it has loaded.
        served_model: What it calls that model; None finds it out.
        exclude: Globs of weight files to leave out.
        bind: Evidence that the contract asks to be decisive.
        work: How hashing is done.
        api_key: What the engine wants to be sent, None where it wants nothing.
        nvml: The module `pynvml`, None where there is none.
        nvidia_smi: The command, None where there is none.
    """

    engine: Engine
    address: Address
    model: Path
    served_model: str | None = None
    exclude: tuple[str, ...] = ()
    bind: tuple[str, ...] = ()
    work: Work = field(default_factory=Work)
    api_key: str | None = field(default=None, repr=False)
    nvml: Any = None
    nvidia_smi: Run | None = None

    def words(self, process: Process) -> tuple[str, ...]:
        """The command line of the engine, with the options that it takes from its environment.

        Raises:
            Refused: The process cannot be looked into.
        """
        if not self.engine.variables:
            return arguments(process)
        return with_environment(arguments(process), environment(process), self.engine.variables)

    def answers(self, timeout_s: float = TIMEOUT_S) -> Answers:
        """Who asks this engine."""
        return Answers(self.address, timeout_s, self.api_key)
