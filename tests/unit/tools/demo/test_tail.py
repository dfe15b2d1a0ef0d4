from pathlib import Path

from tools.demo.tail import Tail


def test_only_whole_lines_added_since_are_taken_each_once(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_bytes(b"before\n")
    tail = Tail(log)
    assert tail.take() == ""

    with log.open("ab") as file:
        file.write("你好\nhal".encode())
    assert tail.take() == "你好\n"
    assert tail.take() == ""

    with log.open("ab") as file:
        file.write(b"f\n\xff\n")
    assert tail.take() == "half\n\N{REPLACEMENT CHARACTER}\n"
