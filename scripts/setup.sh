#!/bin/sh
# Make a virtual environment and install exactly what requirements/ locks; `make setup` calls this.
#
#   VENV     where it goes (default .venv); one that works is kept and brought up to date
#   PYTHON   the interpreter of a new one (default: the first of python3, python3.13, python3.12,
#            python3.11 that is fit)
#
# Needs Python with venv, and a package index or a mirror of one; no compiler and no other tool.
set -eu

venv=${VENV:-.venv}
wanted=${PYTHON:-}
fit='import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))'

fail() {
    echo "setup: $1" >&2
    exit 1
}

# Prints the interpreter to use. A name that exists may still not run (a version manager's stub),
# so each is tried.
choose() {
    if [ -n "$wanted" ]; then
        "$wanted" -c '' 2>/dev/null || fail "PYTHON=$wanted does not run; give the name or path of a Python 3.11, 3.12 or 3.13"
        "$wanted" -c "$fit" || fail "PYTHON=$wanted is $("$wanted" -V 2>&1); beeline needs Python 3.11, 3.12 or 3.13"
        echo "$wanted"
        return
    fi
    for name in python3 python3.13 python3.12 python3.11; do
        if "$name" -c "$fit" 2>/dev/null; then
            echo "$name"
            return
        fi
    done
    found=$(python3 -V 2>&1) || found="none"
    fail "beeline needs Python 3.11, 3.12 or 3.13 (python3 here: $found); install one, or name it: make setup PYTHON=/path/to/python3.12"
}

# ensurepip is what Debian leaves out when python3-venv is missing.
if ! "$venv/bin/python" -c "$fit" 2>/dev/null; then
    python=$(choose)
    "$python" -c 'import ensurepip, venv' 2>/dev/null ||
        fail "$python cannot make virtual environments; on Debian or Ubuntu: apt-get install python3-venv"
    echo "setup: new $venv with $("$python" -V)"
    "$python" -m venv --clear "$venv" || fail "could not make $venv; see above"
elif [ -n "$wanted" ]; then
    have=$("$venv/bin/python" -c 'import sys; print(sys.version_info[:2])')
    python=$(choose)
    want=$("$python" -c 'import sys; print(sys.version_info[:2])')
    [ "$have" = "$want" ] || fail "$venv is of another Python than PYTHON=$wanted; to make it anew: make clean setup PYTHON=$wanted"
fi

python=$venv/bin/python
"$python" -m pip --version >/dev/null 2>&1 || "$python" -m ensurepip >/dev/null

install() {
    "$python" -m pip --disable-pip-version-check --no-input install --quiet --progress-bar off "$@" ||
        fail "installing failed (the reason is above); the same command goes on where it stopped"
}

echo "setup: installing $(grep -c '^[a-z].*==' requirements/dev.txt) locked packages into $venv (about 1.2 GB, one to three minutes)"
start=$(date +%s)
# One package is a source archive (Hydra's parser). What builds it is locked too: with isolation,
# pip would fetch the newest build tools unchecked.
install --require-hashes -r requirements/build.txt
install --require-hashes --no-build-isolation --use-pep517 -r requirements/dev.txt
install --no-build-isolation --no-deps --editable .
echo "setup: done in $(($(date +%s) - start)) s"
