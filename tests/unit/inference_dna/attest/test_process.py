from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from inference_dna.attest.content import content_digest
from inference_dna.attest.interpreter import ask_tokenizer
from inference_dna.attest.listener import answers_for, listener
from inference_dna.attest.process import (
    Process,
    arguments,
    below,
    environment,
    mapped_files,
    mappings,
    program,
    require_running,
    running,
    seen_by,
)
from inference_dna.attest.signs import started_at_ns
from inference_dna.canonical import Refused

WAIT = "import sys; print('up', flush=True); sys.stdin.read()"


@pytest.fixture
def child() -> Iterator[subprocess.Popen[bytes]]:
    command = [sys.executable, "-c", WAIT, "a word", ""]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(command, env={"NAME": "a=b", "EMPTY": ""}, **pipes) as process:  # type: ignore[call-overload]
        assert process.stdout.readline() == b"up\n"
        yield process
        process.kill()


def test_a_process_is_read_as_it_was_started(child: subprocess.Popen[bytes]) -> None:
    process = require_running(child.pid)

    assert arguments(process) == (sys.executable, "-c", WAIT, "a word", "")
    assert environment(process)["NAME"] == "a=b"
    assert environment(process)["EMPTY"] == ""
    assert program(process).samefile(sys.executable)
    assert process in below(require_running(os.getpid()))
    assert str(program(process)) in mapped_files(mappings(process))


def test_an_id_used_again_is_another_process(child: subprocess.Popen[bytes]) -> None:
    process = require_running(child.pid)

    assert process.is_running()
    assert not Process(process.pid, process.start - 1).is_running()


def test_a_process_that_ended_does_not_run(child: subprocess.Popen[bytes]) -> None:
    process = require_running(child.pid)
    child.kill()
    child.communicate()

    assert not process.is_running()
    with pytest.raises(Refused, match=f"no process {child.pid}"):
        require_running(child.pid)


def test_one_that_waits_to_be_buried_does_not_run() -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as ended:
        os.waitid(os.P_PID, ended.pid, os.WEXITED | os.WNOWAIT)

        assert running(ended.pid) is None


def test_the_start_is_told_in_the_time_of_files(child: subprocess.Popen[bytes]) -> None:
    assert abs(time.time_ns() - started_at_ns(require_running(child.pid))) < 60e9


def test_a_relative_path_is_the_process_own(child: subprocess.Popen[bytes]) -> None:
    assert str(seen_by(require_running(child.pid), "x/y")) == f"{os.getcwd()}/x/y"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may give a process another root folder")
def test_a_process_with_another_root_has_files_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "a").write_bytes(b"theirs")
    program = "import os, sys; os.chroot(sys.argv[1]); os.chdir('/'); print('up', flush=True); sys.stdin.read()"
    command = [sys.executable, "-c", program, str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == b"up\n"
        process = require_running(child.pid)

        assert seen_by(process, "/models/a").read_bytes() == b"theirs"
        assert seen_by(process, "models/a").read_bytes() == b"theirs"
        assert content_digest(seen_by(process, "/models")) == content_digest(tmp_path / "models")
        with pytest.raises(Refused, match="in another container"):
            ask_tokenizer(process, Path("/models"))
        child.communicate()


MOUNT = 'mount -t tmpfs none "$1" && mkdir "$1/models" && echo theirs > "$1/models/a" && echo up && cat'


@pytest.mark.skipif(os.geteuid() != 0 or shutil.which("unshare") is None, reason="only root may mount")
def test_a_folder_that_is_mounted_for_the_process_alone_is_not_taken_for_ours(tmp_path: Path) -> None:
    command = ["unshare", "-m", "sh", "-c", MOUNT, "sh", str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        if child.stdout.readline() != b"up\n":
            pytest.skip("nothing can be mounted here")
        seen = seen_by(require_running(child.pid), tmp_path / "models")

        assert (seen / "a").read_bytes() == b"theirs\n"
        assert len(content_digest(seen / "a")) == 64
        with pytest.raises(Refused, match="of the engine is not mounted here"):
            content_digest(seen)
        child.communicate()


def test_a_mapped_file_that_is_gone_is_told() -> None:
    line = "7f00-7f01 r--p 00000000 fe:00 42                    /models/a b.safetensors (deleted)\n"

    (mapped,) = mapped_files(line + "7f02-7f03 rw-p 00000000 00:00 0 [heap]\n").items()

    assert mapped[0] == "/models/a b.safetensors"
    assert (mapped[1].inode, mapped[1].is_gone) == (42, True)


def test_who_listens_is_found(child: subprocess.Popen[bytes]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        me = require_running(os.getpid())

        assert listener(port) == me
        assert answers_for(me, port)
        assert not answers_for(require_running(child.pid), port)
    assert listener(port) is None
