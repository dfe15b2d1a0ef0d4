from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from inference_dna.measure import loading
from tests.support.tiny_bundle import language_model, sequence_classifier
from worker.backend import IsolationBroken
from worker.bundle import BundleRefused
from worker.demo.recipes import BUNDLES
from worker.loader import Kind, Loader, told_kind

SMALLEST = BUNDLES / "v2.3.1"


def test_fifty_threads_and_as_many_tasks_load_a_bundle_once() -> None:
    loader = Loader(SMALLEST)

    async def tasks() -> list[object]:
        return list(await asyncio.gather(*[loader.get_soon() for _ in range(50)]))

    with ThreadPoolExecutor(51) as threads:
        by_tasks = threads.submit(asyncio.run, tasks())
        by_threads = list(threads.map(lambda _: loader.get(), range(50)))

    assert {id(opened) for opened in [*by_threads, *by_tasks.result()]} == {id(loader.get())}


@pytest.mark.models
def test_a_language_model_is_loaded_once_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from worker.backends import causal_lm

    loads: list[Path] = []
    load = loading.load_transformers

    def counting(folder: Path, architecture: str) -> tuple[object, object]:
        loads.append(folder)
        return load(folder, architecture)

    monkeypatch.setattr(causal_lm, "load_transformers", counting)
    loader = Loader(language_model(tmp_path / "letters"))
    with ThreadPoolExecutor(50) as threads:
        opened = list(threads.map(lambda _: loader.get().text, range(50)))

    assert len(loads) == 1
    assert len(set(map(id, opened))) == 1


@pytest.mark.models
def test_the_files_of_a_bundle_tell_what_computes(tmp_path: Path) -> None:
    assert told_kind(SMALLEST) is Kind.ONNX
    assert told_kind(language_model(tmp_path / "letters")) is Kind.TRANSFORMERS
    (tmp_path / "letters" / "generator_v1.0.0.ts").write_bytes(b"")
    assert told_kind(tmp_path / "letters") is Kind.TORCHSCRIPT


@pytest.mark.models
def test_a_classifier_of_transformers_gives_in_a_batch_what_it_gives_alone(tmp_path: Path) -> None:
    texts = ["warm", "cold warm", "warm " * 9, "cold " * 70, "warm cold", "cold", "warm warm"]
    classifier = Loader(sequence_classifier(tmp_path / "weather")).get().classifier
    assert classifier is not None

    together = classifier.classify(texts)

    assert together == [classifier.classify([text])[0] for text in texts]
    assert {inference.answer.intent for inference in together} <= {"cold", "warm"}
    assert len({inference.input_hash for inference in together}) == len(texts)


@pytest.mark.models
def test_a_classifier_is_guarded_like_a_language_model(tmp_path: Path) -> None:
    opened = Loader(sequence_classifier(tmp_path / "weather")).get()
    opened.backend.warm_up()
    opened.backend.described({}).measure(())
    told: list[IsolationBroken] = []
    guarded = opened.guarded(every=1, broken=told.append).classifier
    assert guarded is not None
    assert len(guarded.classify(["warm", "cold"])) == 2

    vars(opened.backend.reachable()["model"])["inputs"] = ["warm"]

    with pytest.raises(IsolationBroken):
        guarded.classify(["warm"])
    assert [violation.field for violation in told] == ["model.inputs"]


@pytest.mark.parametrize(
    ("kind", "files", "says"),
    [
        pytest.param(Kind.AUTO, {}, "nothing here can serve it", id="empty"),
        pytest.param(Kind.TRANSFORMERS, {}, "config.json", id="no-configuration"),
        pytest.param(Kind.TRANSFORMERS, {"config.json": "{}"}, "no architecture", id="no-architecture"),
        pytest.param(
            Kind.TRANSFORMERS, {"config.json": '{"architectures": ["No"]}'}, "has no class 'No'", id="unknown"
        ),
        pytest.param(Kind.TORCHSCRIPT, {}, "it must have one", id="no-archive"),
    ],
)
@pytest.mark.models
def test_a_folder_that_is_no_such_bundle_is_a_sentence(
    tmp_path: Path, kind: Kind, files: dict[str, str], says: str
) -> None:
    for name, text in files.items():
        (tmp_path / name).write_text(text, encoding="utf-8")

    with pytest.raises(BundleRefused, match=says):
        Loader(tmp_path, kind).get()


@pytest.mark.models
@pytest.mark.parametrize(
    "sealed",
    [{"unknown": 1}, {"allowed": ["nonsense"]}, {"max_new_tokens": 0}, {"defaults": {"num_beams": 3}}, {"defaults": 5}],
    ids=str,
)
def test_a_wrong_worker_json_is_a_sentence(tmp_path: Path, sealed: dict[str, object]) -> None:
    with pytest.raises(BundleRefused, match=r"worker\.json"):
        Loader(language_model(tmp_path / "letters", sealed=sealed)).get()


def test_the_demo_needs_neither_torch_nor_transformers() -> None:
    story = (
        "import sys; sys.modules['torch'] = sys.modules['transformers'] = None\n"
        "import worker.command\nfrom pathlib import Path\nfrom worker.loader import Loader\n"
        "opened = Loader(Path(sys.argv[1])).get()\n"
        "guarded = opened.guarded(every=1, broken=print)\n"
        "print(guarded.classifier.classify(['退款'])[0].answer.intent)"
    )

    ended = subprocess.run([sys.executable, "-c", story, str(SMALLEST)], capture_output=True, text=True)

    assert (ended.stdout.strip(), ended.stderr) == ("refund", "")


def test_a_bad_bundle_stays_bad(copied: Callable[..., Path]) -> None:
    loader = Loader(copied(model_onnx=""))

    for _ in range(2):
        with pytest.raises(BundleRefused, match=r"model\.onnx"):
            loader.get()
