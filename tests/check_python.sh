#!/bin/sh
# The Python package: the source distribution holds no results of builds; its
# wheel, repaired, loads only libraries that manylinux systems have and its own,
# and passes its tests and scikit-learn's in an environment without the tree.
set -eu
python=${STRADS_PYTHON:-/usr/bin/python3}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"
export PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_ROOT_USER_ACTION=ignore

# quiet LOG COMMAND...: shows the output only if the command fails.
quiet()
{
    log=$1
    shift
    "$@" >"$log" 2>&1 </dev/null || {
        tail -n 60 "$log"
        exit 1
    }
}

# The source distribution is built from a copy: setuptools writes into its tree.
mkdir tree
(cd "$STRADS_SOURCE" && tar -cf - --exclude=./build --exclude='./build-*' \
    --exclude=./.git --exclude='*.so' --exclude='*.egg-info' .) |
    tar -xf - -C tree
(cd tree && quiet ../sdist.log "$python" setup.py sdist --dist-dir "$scratch")
tar -tf strads-*.tar.gz >names
if grep -E '\.(o|a|so|pyc|json)$|^[^/]*/(build|data|docs)/' names; then
    echo "these do not belong into the source distribution"
    exit 1
fi

# The wheel is built from it, at a place that keeps CMake's results for the next
# time.
built=$STRADS_BUILD/wheel
mkdir -p source "$built/build"
tar -xf strads-*.tar.gz -C source --strip-components 1
mv "$built/build" source
rm -rf "$built"
mv source "$built"
rm -rf "$built/build/python/lib."*
quiet wheel.log "$python" -m pip wheel --no-build-isolation --no-deps --no-index \
    -w plain "$built"
quiet repair.log "$python" "$STRADS_SOURCE/packaging/repair_wheel.py" \
    plain/strads-*.whl repaired
rm -rf tree plain

"$python" - repaired/*.whl <<'END_OF_PYTHON'
"""Checks names, loaded libraries and RECORD of a wheel."""
import base64, csv, hashlib, os, re, subprocess, sys, zipfile

path, = sys.argv[1:]
tag = re.search(r"-cp39-abi3-manylinux_2_(\d+)_(x86_64|aarch64)\.whl$", path)
assert tag, path
# PEP 600: libraries that all its systems have, of those that C code loads
system = {"libc.so.6", "libm.so.6", "libdl.so.2", "librt.so.1", "libpthread.so.0",
          "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1", "libgcc_s.so.1"}
with zipfile.ZipFile(path) as wheel:
    wheel.extractall("unpacked")
    names = wheel.namelist()
    modes = {e.filename: e.external_attr >> 16 for e in wheel.infolist()}
own = {os.path.basename(name) for name in names}
binaries = []
for name in names:
    file = os.path.join("unpacked", name)
    with open(file, "rb") as content:
        if content.read(4) != b"\x7fELF":
            continue
    binaries.append(name)
    dynamic = subprocess.run(["readelf", "-dVW", file], check=True,
                             stdout=subprocess.PIPE, text=True).stdout
    needs = set(re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic))
    assert needs <= system | own, (name, needs - system - own)
    paths = re.findall(r"\((?:RPATH|RUNPATH)\).*\[(.*)\]", dynamic)
    for place in ":".join(paths).split(":"):
        assert place == "" or place.startswith("$ORIGIN"), (name, place)
    versions = [int(v) for v in re.findall(r"\bGLIBC_2\.(\d+)", dynamic)]
    assert max(versions) <= int(tag[1]), (name, max(versions))
assert modes["strads/bin/strads"] & 0o111
assert {"strads/_strads.abi3.so", "strads/bin/strads",
        "strads/lib/libstrads.so.0"} <= set(binaries), binaries
for library in "crypto", "jansson", "ssl", "utf8proc", "xxhash", "z", "zstd":
    assert any(re.match(rf"strads\.libs/lib{library}-[0-9a-f]{{8}}\.so\.", name)
               for name in binaries), library
licences = [n for n in names if ".dist-info/licenses/" in n]
assert len(licences) >= 6, licences
record, = (name for name in names if name.endswith(".dist-info/RECORD"))
with open(os.path.join("unpacked", record), encoding="utf-8") as lines:
    rows = {name: digest for name, digest, _ in csv.reader(lines)}
assert set(rows) == set(names)
for name in set(names) - {record}:
    with open(os.path.join("unpacked", name), "rb") as content:
        digest = hashlib.sha256(content.read()).digest()
    assert rows[name] == "sha256=" + \
        base64.urlsafe_b64encode(digest).decode().rstrip("="), name
END_OF_PYTHON

# Debian's pip serves an environment that has none of its own.
"$python" -m venv --system-site-packages --without-pip venv
venv/bin/python -m pip -q install --no-index --no-deps repaired/*.whl
# The types are those of the code, and mypy finds a user's errors by them. Types of
# submodules are in the code itself.
cat >other_types <<'END_OF_LIST'
strads\.[a-z_]+\..*
strads\.Progress\.__match_args__
END_OF_LIST
cp "$STRADS_SOURCE/pyproject.toml" .
quiet types.log venv/bin/python -m mypy.stubtest --concise \
    --mypy-config-file pyproject.toml --allowlist other_types strads
quiet types.log venv/bin/python -m mypy --strict \
    "$STRADS_SOURCE/python/tests/typed_use.py"

export STRADS_BIN="$scratch/venv/bin/strads"
export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1
cp -R "$STRADS_SOURCE/python/tests" tests
venv/bin/python -m pytest -q -p no:cacheprovider -W ignore tests
