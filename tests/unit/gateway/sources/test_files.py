from __future__ import annotations

import asyncio
import os
import shutil
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from gateway.sources.files import FileSource
from gateway.sources.reading import Reading


def put(root: Path, path: str, text: str = "{}") -> Path:
    file = root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return file


class Folder:
    """A folder and a source on it; `meanwhile` happens between the two walks of a round."""

    def __init__(self, root: Path, **settings: int) -> None:
        self.root = root
        self.meanwhile: Callable[[], object] = lambda: None
        self.source = FileSource(root, pause=lambda _: self.meanwhile(), **settings)  # type: ignore[arg-type]

    def put(self, path: str, text: str = "{}") -> Path:
        return put(self.root, path, text)

    def look(self) -> Reading:
        return self.source.look()


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    made = Folder(tmp_path)
    for version in ("v1.0.0", "v2.0.0", "v3.0.0"):
        made.put(f"contracts/m/{version}.json", version)
    made.put("routes/m.yaml", "route")
    return made


def texts(reading: Reading) -> dict[str, bytes]:
    return {key: document.text for key, document in reading.documents.items()}


def test_everything_is_read_under_its_key(folder: Folder) -> None:
    reading = folder.look()

    assert texts(reading) == {
        "contracts/m/v1.0.0": b"v1.0.0",
        "contracts/m/v2.0.0": b"v2.0.0",
        "contracts/m/v3.0.0": b"v3.0.0",
        "routes/m": b"route",
    }
    assert reading.ok
    assert not reading.gone
    assert not reading.faults


def test_nothing_new_is_the_same_object(folder: Folder) -> None:
    first = folder.look()

    assert folder.look() is first


def test_an_edit_is_read_and_the_others_stay_the_same_objects(folder: Folder) -> None:
    before = folder.look()
    folder.put("contracts/m/v2.0.0.json", "edited")
    after = folder.look()

    assert after.documents["contracts/m/v2.0.0"].text == b"edited"
    assert after.documents["contracts/m/v1.0.0"] is before.documents["contracts/m/v1.0.0"]


def test_a_file_replaced_by_one_of_the_same_size_and_time_is_noticed(folder: Folder, tmp_path: Path) -> None:
    folder.look()
    old = tmp_path / "contracts" / "m" / "v2.0.0.json"
    new = folder.put("contracts/m/.new", "v9.9.9")
    stamp = old.stat()
    os.utime(new, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
    new.replace(old)

    assert folder.look().documents["contracts/m/v2.0.0"].text == b"v9.9.9"


def test_a_file_still_being_written_waits_for_the_next_round(folder: Folder) -> None:
    folder.look()
    folder.put("contracts/m/v2.0.0.json", "half")
    folder.meanwhile = lambda: folder.put("contracts/m/v2.0.0.json", "half and half")
    during = folder.look()
    folder.meanwhile = lambda: None
    after = folder.look()

    assert during.documents["contracts/m/v2.0.0"].text == b"v2.0.0"
    assert after.documents["contracts/m/v2.0.0"].text == b"half and half"
    assert not during.faults


def test_a_file_that_never_rests_is_read_in_the_end(folder: Folder) -> None:
    folder.look()
    count = iter(range(100))
    folder.meanwhile = lambda: folder.put("contracts/m/v2.0.0.json", f"text {next(count):03}")
    folder.meanwhile()
    rounds = [folder.look().documents["contracts/m/v2.0.0"].text for _ in range(6)]

    assert rounds[:4] == [b"v2.0.0"] * 4
    assert rounds[-1] != b"v2.0.0"


def test_an_editor_that_removes_and_writes_anew_removes_nothing(folder: Folder, tmp_path: Path) -> None:
    folder.look()
    (tmp_path / "contracts" / "m" / "v2.0.0.json").unlink()
    folder.meanwhile = lambda: folder.put("contracts/m/v2.0.0.json", "anew")
    during = folder.look()
    folder.meanwhile = lambda: None

    assert not during.gone
    assert folder.look().documents["contracts/m/v2.0.0"].text == b"anew"


def test_a_deleted_file_is_gone(folder: Folder, tmp_path: Path) -> None:
    folder.look()
    (tmp_path / "contracts" / "m" / "v2.0.0.json").unlink()
    reading = folder.look()

    assert reading.gone == {"contracts/m/v2.0.0"}
    assert "contracts/m/v2.0.0" not in reading.documents


def test_what_comes_back_is_gone_no_more(folder: Folder, tmp_path: Path) -> None:
    folder.look()
    (tmp_path / "contracts" / "m" / "v2.0.0.json").unlink()
    folder.look()
    folder.put("contracts/m/v2.0.0.json", "back")
    reading = folder.look()

    assert not reading.gone
    assert reading.documents["contracts/m/v2.0.0"].text == b"back"


def test_files_that_vanish_one_after_another_are_not_gone_until_that_has_stopped(
    folder: Folder, tmp_path: Path
) -> None:
    folder.look()
    (tmp_path / "contracts" / "m" / "v1.0.0.json").unlink()
    folder.meanwhile = lambda: (tmp_path / "contracts" / "m" / "v2.0.0.json").unlink(missing_ok=True)
    during = folder.look()
    folder.meanwhile = lambda: None
    after = folder.look()

    assert not during.gone
    assert after.gone == {"contracts/m/v1.0.0", "contracts/m/v2.0.0"}


def test_a_missing_folder_takes_nothing_with_it(folder: Folder, tmp_path: Path) -> None:
    folder.look()
    (tmp_path / "contracts").rename(tmp_path / "away")
    reading = folder.look()

    assert not reading.gone
    assert not reading.ok
    assert set(reading.documents) == {"routes/m"}
    assert "contracts/ is missing" in reading.problems[0]

    (tmp_path / "away").rename(tmp_path / "contracts")
    back = folder.look()

    assert back.ok
    assert len(back.documents) == 4


def test_a_root_that_vanishes_takes_nothing_with_it(folder: Folder, tmp_path: Path) -> None:
    folder.look()
    shutil.rmtree(tmp_path)
    reading = folder.look()

    assert not reading.gone
    assert not reading.ok
    assert "cannot be read: No such file or directory" in reading.problems[0]


def test_a_removed_folder_of_one_model_is_a_removal(folder: Folder, tmp_path: Path) -> None:
    folder.put("contracts/other/v1.0.0.json")
    folder.look()
    shutil.rmtree(tmp_path / "contracts" / "other")

    assert folder.look().gone == {"contracts/other/v1.0.0"}


def test_a_folder_that_cannot_be_looked_at_takes_nothing_with_it(folder: Folder, tmp_path: Path) -> None:
    folder.look()
    shutil.rmtree(tmp_path / "contracts" / "m")
    (tmp_path / "contracts" / "m").symlink_to("m")
    reading = folder.look()

    assert not reading.gone
    assert any("cannot be looked at" in fault.message for fault in reading.faults.values())


def test_what_the_operator_confirms_is_missed_no_more(folder: Folder, tmp_path: Path) -> None:
    folder.look()
    shutil.rmtree(tmp_path / "routes")
    assert not folder.look().ok

    folder.source.forget(["routes/m"])
    reading = folder.look()

    assert reading.ok
    assert reading.gone == {"routes/m"}


def test_two_files_for_one_document_are_a_fault_that_names_both(folder: Folder, tmp_path: Path) -> None:
    folder.put("contracts/m/2.0.0.yaml")
    reading = folder.look()

    assert "contracts/m/v2.0.0" not in reading.documents
    message = reading.faults["contracts/m/v2.0.0"].message
    assert "contracts/m/2.0.0.yaml" in message
    assert "contracts/m/v2.0.0.json" in message

    (tmp_path / "contracts" / "m" / "2.0.0.yaml").unlink()
    mended = folder.look()

    assert mended.documents["contracts/m/v2.0.0"].text == b"v2.0.0"
    assert not mended.gone


def test_a_renamed_ending_is_a_change_and_no_removal(folder: Folder, tmp_path: Path) -> None:
    folder.look()
    (tmp_path / "routes" / "m.yaml").rename(tmp_path / "routes" / "m.json")
    reading = folder.look()

    assert not reading.gone
    assert reading.documents["routes/m"].origin == "routes/m.json"


def test_a_file_whose_name_is_no_key_is_a_fault_of_its_own(folder: Folder) -> None:
    folder.put("contracts/m/v2.4.json")
    reading = folder.look()

    assert "three numbers" in reading.faults["contracts/m/v2.4.json"].message
    assert len(reading.documents) == 4


def test_a_file_that_becomes_unreadable_and_readable_again(folder: Folder, tmp_path: Path) -> None:
    folder.look()
    file = tmp_path / "contracts" / "m" / "v2.0.0.json"
    file.unlink()
    file.symlink_to("v2.0.0.json")
    broken = folder.look()

    assert "cannot be" in broken.faults["contracts/m/v2.0.0"].message
    assert not broken.gone

    file.unlink()
    file.write_text("mended")

    assert folder.look().documents["contracts/m/v2.0.0"].text == b"mended"


def test_a_document_that_is_too_long_is_a_fault(tmp_path: Path) -> None:
    folder = Folder(tmp_path, max_bytes=10)
    folder.put("contracts/m/v1.0.0.json", "12345678901")

    assert "more than the 10" in folder.look().faults["contracts/m/v1.0.0"].message


def test_a_source_whose_folder_appears_later_recovers(tmp_path: Path) -> None:
    folder = Folder(tmp_path / "later")
    assert not folder.look().ok
    folder.put("contracts/m/v1.0.0.json")

    assert folder.look().ok


def test_reading_polls_in_another_thread(tmp_path: Path) -> None:
    put(tmp_path, "contracts/m/v1.0.0.json")
    threads = []

    async def story() -> None:
        source = FileSource(tmp_path, poll_s=0.05, settle_s=0.01, pause=lambda s: threads.append(threading.get_ident()))
        first = await source.read()
        assert await source.read() is first
        put(tmp_path, "contracts/m/v1.0.0.json", "edited")
        began = time.monotonic()
        changed = await source.read()
        assert changed.documents["contracts/m/v1.0.0"].text == b"edited"
        assert time.monotonic() - began < 1.0

    asyncio.run(story())

    assert threads
    assert threading.get_ident() not in threads


def test_only_the_first_round_takes_no_breaks(tmp_path: Path) -> None:
    for number in range(2_000):
        put(tmp_path, f"routes/m{number}.yaml")
    pauses = list[float]()

    async def story() -> list[int]:
        source = FileSource(tmp_path, poll_s=0.01, pause=pauses.append)
        first = await source.read()
        taken = [len(pauses)]
        assert await source.read() is first
        return [*taken, len(pauses)]

    before, after = asyncio.run(story())

    assert before == 0
    assert after > 1


def test_a_round_that_nobody_waits_for_any_more_takes_no_breaks(tmp_path: Path) -> None:
    for number in range(2_000):
        put(tmp_path, f"routes/m{number}.yaml")
    began, cancelled, pauses = threading.Event(), threading.Event(), list[float]()

    def pause(seconds: float) -> None:
        pauses.append(seconds)
        began.set()
        assert cancelled.wait(20)

    async def story() -> None:
        source = FileSource(tmp_path, poll_s=0.01, pause=pause)
        await source.read()
        round_ = asyncio.create_task(source.read())
        assert await asyncio.to_thread(began.wait, 20)
        round_.cancel()
        with pytest.raises(asyncio.CancelledError):
            await round_
        cancelled.set()

    asyncio.run(story())  # waits for the thread

    assert len(pauses) == 1


def test_a_quiet_round_over_ten_thousand_files_is_cheap(tmp_path: Path) -> None:
    for model in range(100):
        for version in range(100):
            put(tmp_path, f"contracts/m{model}/v1.{version}.0.json")
    source = FileSource(tmp_path)
    source.look()
    began = time.process_time()
    source.look()

    assert time.process_time() - began < 0.3
