#!/bin/sh
# Makes .venv with everything that is locked, and tacit itself as an editable install.
# Called by the Makefile; run it from the root of the repository. PYTHON=/path/to/python chooses the Python.
set -eu

OLDEST=3.11 NEWEST=3.14 # what the locked Numba, NumPy and Spark have all been released for

say() { printf '%s\n' "$*" >&2; }

fits() { # a Python of a version that the lock holds for
    "$1" - "$OLDEST" "$NEWEST" 2>/dev/null <<'PROGRAM'
import sys
oldest, newest = (tuple(map(int, text.split("."))) for text in sys.argv[1:])
sys.exit(not oldest <= sys.version_info[:2] <= newest)
PROGRAM
}

find_python() {
    without_venv=
    if [ -n "${PYTHON:-}" ]; then
        set -- "$PYTHON"
    else
        set -- python3 python3.13 python3.12 python3.11 python3.14 python
    fi
    for candidate; do
        fits "$candidate" || continue
        if "$candidate" -c 'import ensurepip, venv' 2>/dev/null; then
            printf '%s\n' "$candidate"
            return
        fi
        without_venv=${without_venv:-$candidate}
    done
    if [ -n "$without_venv" ]; then
        version=$("$without_venv" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
        say "setup: $without_venv cannot make virtual environments; install the package python$version-venv" \
            "(as administrator: apt install python$version-venv), or give another Python: make PYTHON=/path/to/python3"
    elif [ -n "${PYTHON:-}" ]; then
        say "setup: $PYTHON is not a Python from $OLDEST to $NEWEST, which Numba and Spark need; give another one."
    else
        say "setup: no Python from $OLDEST to $NEWEST, which Numba and Spark need, is on PATH;" \
            "install one, or give it: make PYTHON=/path/to/python3"
    fi
    return 1
}

install() {
    .venv/bin/python -m pip install --quiet --disable-pip-version-check --no-input "$@"
}

if ! fits .venv/bin/python || ! .venv/bin/python -c 'import pip' 2>/dev/null; then
    python=$(find_python)
    say "Setting up .venv with $("$python" --version); Spark is large, so the first time takes some minutes."
    "$python" -m venv --clear .venv
fi
# Spark comes as a source package: it is built with what is locked, not with what is newest today.
install --require-hashes -r requirements/build.txt
install --require-hashes --no-build-isolation -r requirements/locked.txt
install --no-deps --no-build-isolation --editable .
touch .venv/.ready
