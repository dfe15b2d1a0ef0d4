"""`python -m bench.hashing.ours FOLDER [THREADS]`: hash a model folder as a worker does, say how long it took."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

from inference_dna.measure.folder import measure_folder
from inference_dna.measure.work import Work


def main(folder: str, threads: str = "0") -> None:
    """Print seconds, CPU seconds and digests by file as one line of JSON."""
    began_s, began_cpu_s = time.perf_counter(), time.process_time()
    measured = measure_folder(Path(folder), work=Work(int(threads)))
    seconds, cpu_s = time.perf_counter() - began_s, time.process_time() - began_cpu_s
    entries = (*measured.weights, *measured.tokenizer, *measured.postprocess)
    print(json.dumps({"seconds": seconds, "cpu_s": cpu_s, "digests": {each.name: each.sha256 for each in entries}}))


if __name__ == "__main__":
    main(*sys.argv[1:])
