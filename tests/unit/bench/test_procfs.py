from __future__ import annotations

import os
import subprocess
import sys

from bench import procfs

STAT = "cpu  1 1 1 1 1 1 1 1 1 1\ncpu0 10 2 30 400 5 6 7 8 0 0\ncpu1 1 0 0 900 0 0 0 0 0 0\nintr 5\n"


def test_busy_is_everything_but_idling_and_waiting_for_disks() -> None:
    assert procfs.busy_ticks(STAT, 0) == 10 + 2 + 30 + 6 + 7 + 8
    assert procfs.busy_ticks(STAT, 1) == 1
    assert procfs.busy_ticks(STAT, 9) == 0


def test_a_command_with_blanks_and_brackets_shifts_no_field() -> None:
    assert procfs.stat_fields("7 (a) b (c)) S 1 2 3")[:2] == ["S", "1"]


def test_a_family_is_a_process_and_its_descendants() -> None:
    shell = f"{sys.executable} -c 'input()' & wait"
    with subprocess.Popen(["sh", "-c", f"{shell}"], stdin=subprocess.PIPE) as parent:
        try:
            family = procfs.family(parent.pid)
            assert parent.pid in family
            assert os.getpid() not in family
        finally:
            parent.kill()


def test_cpu_time_of_another_process_grows_while_it_computes() -> None:
    with subprocess.Popen([sys.executable, "-c", "print(1, flush=True)\nwhile True: pass"], stdout=-1) as child:
        try:
            assert child.stdout is not None
            child.stdout.readline()
            before = procfs.cpu_s([child.pid])
            while procfs.cpu_s([child.pid]) == before:
                pass
            assert procfs.main_thread_s(child.pid) > 0
            assert procfs.rss_bytes([child.pid]) > 1 << 20
        finally:
            child.kill()
