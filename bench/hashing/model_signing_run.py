"""Run by the interpreter of model_signing's own environment: hash a folder with its defaults, say how long it took.

Imports nothing of this repository. Its imports, about a second, are not counted.
"""

import json
import sys
import time

from model_signing import hashing


def main(folder: str) -> None:
    """Print seconds, CPU seconds and digests by file as one line of JSON."""
    began_s, began_cpu_s = time.perf_counter(), time.process_time()
    manifest = hashing.hash(folder)
    seconds, cpu_s = time.perf_counter() - began_s, time.process_time() - began_cpu_s
    digests = {each.identifier: each.digest.digest_hex for each in manifest.resource_descriptors()}
    print(json.dumps({"seconds": seconds, "cpu_s": cpu_s, "digests": digests}))


if __name__ == "__main__":
    main(sys.argv[1])
