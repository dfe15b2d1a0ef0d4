"""Measure a model and write its manifest, the same as `dna manifest`.

    python tools/generate_dna_manifest.py --model ./models/v2.4.0 --output manifest_v2.4.0.json

Hashing needs Python alone, no installed package: this file may be run from a bare checkout. `--help` lists all options.
"""

from __future__ import annotations

import sys
from pathlib import Path

# A script's own folder is where Python looks first; what it runs lies one above.
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from inference_dna.making.generate import main

if __name__ == "__main__":
    sys.exit(main(program="generate_dna_manifest.py"))
