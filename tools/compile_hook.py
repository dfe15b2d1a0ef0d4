"""Compiles the way of a request when a wheel is built: a hatchling hook around mypyc (ADR 9).

Off by default, so that an editable install stays plain Python; `make wheel` and `make compile` switch it on with
`HATCH_BUILD_HOOK_ENABLE_CUSTOM=1`. What is compiled is listed in `pyproject.toml`; the sources go into the wheel as
well and are what runs where a module was not compiled.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

_DIRECT_CALLS = ["-fno-semantic-interposition", "-fno-plt", "-fvisibility=hidden"]
"""Nobody replaces a function of ours at load time: calls need no table, and small functions can be inlined."""


class CompileHook(BuildHookInterface):  # type: ignore[type-arg]
    """Adds one extension for each compiled module, and one that holds the code of all."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile, and put what came out beside the sources in the wheel."""
        del version
        # Kept until the wheel is written, which is after this call.
        self._folder = tempfile.TemporaryDirectory(prefix="compiled-")
        built = Path(self._folder.name)
        compile_modules(Path(self.root), _listed(Path(self.root), self.config["modules"]), built)
        build_data["pure_python"] = False
        build_data["infer_tag"] = True
        for extension in sorted(built.joinpath("lib").rglob("*.so")):
            build_data["force_include"][str(extension)] = str(extension.relative_to(built / "lib"))

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove what the wheel now holds."""
        del version, build_data, artifact_path
        self._folder.cleanup()


def compile_modules(root: Path, modules: list[str], target: Path) -> None:
    """Compile modules of the repository into `target/lib`, in the folders their packages have."""
    # Imported here: a build without the hook needs neither.
    from mypyc.build import mypycify
    from setuptools import Distribution
    from setuptools.command.build_ext import build_ext

    extensions = mypycify(
        ["--config-file", str(root / "pyproject.toml"), *[str(root / module) for module in modules]],
        target_dir=str(target / "c"),
        # One group, so that calls between modules are calls in C.
        separate=False,
    )
    for extension in extensions:
        extension.extra_compile_args += _DIRECT_CALLS
    command = build_ext(Distribution({"name": "compiled", "ext_modules": extensions}))
    command.ensure_finalized()
    command.build_lib, command.build_temp = str(target / "lib"), str(target / "temp")
    command.run()


def _listed(root: Path, modules: list[str]) -> list[str]:
    """Spread the listed folders into their modules; a package's own file has nothing worth compiling."""
    found: list[str] = []
    for listed in modules:
        path = root / listed
        files = sorted(path.glob("*.py")) if path.is_dir() else [path]
        found += [str(file.relative_to(root)) for file in files if file.name != "__init__.py"]
    return found
