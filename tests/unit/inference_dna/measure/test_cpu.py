from __future__ import annotations

import pytest

from inference_dna.measure.cpu import Cpu, read_cpu

AVX512 = "fpu sse4_1 sse4_2 avx f16c fma avx2 avx512f avx512dq avx512cd avx512bw avx512vl avx512_vnni smep"


def x86(*flags_of_cores: str, model: str = "AMD EPYC 9654") -> str:
    return "\n\n".join(f"processor\t: {n}\nmodel name\t: {model}\nflags\t\t: {f}" for n, f in enumerate(flags_of_cores))


ARM = "processor\t: 0\nBogoMIPS\t: 50.00\nFeatures\t: fp asimd fphp asimdhp sve i8mm bf16\nCPU part\t: 0xd40\n"


@pytest.mark.parametrize(
    ("machine", "cpuinfo", "arch", "isa"),
    [
        pytest.param("x86_64", x86(AVX512), "x86_64", "AVX512", id="avx512"),
        pytest.param("AMD64", x86(AVX512), "x86_64", "AVX512", id="another-name-of-the-architecture"),
        pytest.param("x86_64", x86("avx avx2 fma avx512f"), "x86_64", "AVX2", id="half-an-avx512-is-avx2"),
        pytest.param("x86_64", x86("avx avx2"), "x86_64", "AVX", id="avx2-without-fma-is-avx"),
        pytest.param("x86_64", x86("sse4_2"), "x86_64", "DEFAULT", id="no-avx"),
        pytest.param("x86_64", x86(AVX512, "avx avx2 fma"), "x86_64", "AVX2", id="every-core-must-have-it"),
        pytest.param("x86_64", "", "x86_64", "DEFAULT", id="nothing-told"),
        pytest.param("aarch64", ARM, "aarch64", "SVE", id="sve"),
        pytest.param("arm64", ARM.replace("sve ", ""), "aarch64", "NEON", id="neon"),
        pytest.param("riscv64", "isa : rv64imafdc", "riscv64", "DEFAULT", id="unknown-architecture"),
        pytest.param("arm64", None, "aarch64", None, id="platform-without-cpuinfo"),
    ],
)
def test_the_level_is_what_every_core_has(machine: str, cpuinfo: str | None, arch: str, isa: str | None) -> None:
    cpu = read_cpu(machine, cpuinfo)

    assert (cpu.arch, cpu.isa) == (arch, isa)


def test_only_flags_that_choose_kernels_are_features() -> None:
    assert read_cpu("x86_64", x86("fpu smep avx amx_int8 sse4_1 fma ht")).features == (
        "amx_int8",
        "avx",
        "fma",
        "sse4_1",
    )
    assert read_cpu("aarch64", ARM).features == ("asimd", "asimdhp", "bf16", "fphp", "i8mm", "sve")
    assert read_cpu("riscv64", "Features : avx sve").features == ()


def test_two_machines_of_one_level_may_differ() -> None:
    with_vnni, without = read_cpu("x86_64", x86(AVX512)), read_cpu("x86_64", x86(AVX512.replace("avx512_vnni ", "")))

    assert with_vnni.isa == without.isa
    assert with_vnni.document() != without.document()


def test_the_model_is_evidence() -> None:
    cpu = read_cpu("x86_64", x86(AVX512, model="AMD EPYC 7742"))

    assert cpu.evidence() == {"arch": "x86_64", "model": "AMD EPYC 7742"}
    assert cpu.document() == read_cpu("x86_64", x86(AVX512)).document()


def test_what_a_platform_cannot_tell_is_null() -> None:
    assert Cpu("aarch64", None, None, None).document() == {"arch": "aarch64", "isa": None, "features": None}
    assert read_cpu("aarch64", ARM).model is None


def test_what_the_engine_uses_counts_not_what_the_processor_offers() -> None:
    assert read_cpu("x86_64", x86(AVX512), in_use="AVX2").isa == "AVX2"
    assert read_cpu("arm64", None, in_use="DEFAULT").isa == "DEFAULT"
