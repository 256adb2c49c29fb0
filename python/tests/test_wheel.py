"""A wheel that carries the library and the command: both load its own shared
libraries, and train; two processes of the command meet over TLS."""
import glob
import importlib.metadata
import os
import re
import secrets
import subprocess
import sys

import numpy as np
import pytest

import strads

PACKAGE = os.path.dirname(os.path.abspath(strads.__file__))
COMMAND = os.path.join(os.path.dirname(sys.executable), "strads")
LIBRARIES = glob.glob(os.path.join(PACKAGE, "..", "strads.libs", "*"))
pytestmark = pytest.mark.skipif(
    not LIBRARIES, reason="not a wheel of packaging/repair_wheel.py")


@pytest.fixture(name="data")
def _data(tmp_path):
    """Rows and labels, also as the file data.svm in the working folder."""
    random = np.random.default_rng(5)
    X = random.normal(size=(200, 20))
    y = X[:, 0] - 2 * X[:, 1] + 0.1 * random.normal(size=200)
    with open(tmp_path / "data.svm", "w", encoding="utf-8") as file:
        for row, label in zip(X, y):
            file.write(f"{float(label)!r} " + " ".join(
                f"{j + 1}:{float(v)!r}" for j, v in enumerate(row)) + "\n")
    return X, y


def run(folder, *words):
    """Runs the wheel's command; it finds Python only through the wheel."""
    clean = {"PATH": "/nonexistent", "LC_ALL": "C"}
    return subprocess.run([COMMAND, *words], cwd=folder, env=clean,
                          capture_output=True, text=True, timeout=120,
                          check=False)


def test_its_version_is_that_of_the_library():
    assert importlib.metadata.version("strads") == strads.version()
    assert strads.__version__ == strads.version()


def test_python_loads_the_libraries_of_the_wheel(data):
    strads.Lasso(alpha=0.1).fit(*data)
    with open("/proc/self/maps", encoding="utf-8") as maps:
        loaded = {os.path.realpath(line.split(None, 5)[5].strip())
                  for line in maps if "/" in line}
    for library in [*LIBRARIES, os.path.join(PACKAGE, "lib/libstrads.so.0")]:
        assert os.path.realpath(library) in loaded


def test_the_command_loads_the_libraries_of_the_wheel():
    loads = subprocess.run(["ldd", os.path.join(PACKAGE, "bin", "strads")],
                           stdout=subprocess.PIPE, text=True, check=True).stdout
    found = {os.path.basename(name): os.path.realpath(place) for name, place
             in re.findall(r"^\s*(\S+) => (\S+)", loads, re.MULTILINE)}
    for library in LIBRARIES:
        name = os.path.basename(library)
        assert found.pop(name) == os.path.realpath(library)
    assert set(found) <= {"libc.so.6", "libm.so.6"}


def test_the_command_and_python_find_the_same_model(data, tmp_path):
    ended = run(tmp_path, "lasso", "train", "data.svm", "--lambda", "0.1",
                "--tolerance", "1e-10", "--model", "model.json")
    assert ended.returncode == 0, ended.stderr
    model = strads.read_model(tmp_path / "model.json")
    fit = strads.Lasso(alpha=0.1, tol=1e-10).fit(*data)
    assert fit.dual_gap_ <= 1e-10
    np.testing.assert_allclose(fit.coef_, model.coef, atol=1e-5)
    assert abs(model.coef[1] + 1.9) < 0.1
    predicted = run(tmp_path, "lasso", "predict", "model.json", "data.svm")
    np.testing.assert_allclose(
        np.array(predicted.stdout.split(), float),
        data[0] @ model.coef + model.intercept)


def test_the_command_has_no_gsl_and_passes_exit_codes_on(tmp_path):
    assert "without GSL" in run(tmp_path, "--version").stdout
    assert run(tmp_path, "lasso", "train", "none.svm").returncode == 2


def test_the_command_runs_a_program_by_its_own_python(data, tmp_path):
    del data
    (tmp_path / "program.py").write_text("""
import sys
import strads
print(sys.prefix, strads.__file__)
""")
    ended = run(tmp_path, "run", "program.py", "data.svm")
    assert ended.stdout.split() == [sys.prefix, strads.__file__]
    assert ended.returncode == 2 and "defines 0 programs" in ended.stderr


def test_two_processes_train_over_tls(data, tmp_path):
    del data
    token = tmp_path / "token"
    token.write_text(secrets.token_hex(24))
    token.chmod(0o600)
    train = [COMMAND, "lasso", "train", "data.svm", "--lambda", "0.1",
             "--partitions", "2", "--deterministic"]
    subprocess.run([*train, "--model", "one.json"], cwd=tmp_path, check=True,
                   stderr=subprocess.DEVNULL)
    with subprocess.Popen(
            [*train, "--model", "two.json", "--nodes", "2", "--workers", "1",
             "--listen", "tcp://127.0.0.1:0", "--token-file", token],
            cwd=tmp_path, stderr=subprocess.PIPE, text=True) as first:
        for line in first.stderr:
            if "strads join " in line:
                break
        ended = run(tmp_path, "join", line.split()[-1], "--workers", "1",
                    "--token-file", "token")
        rest = first.stderr.read()
    assert first.returncode == 0 and ended.returncode == 0, rest + ended.stderr
    one, two = (strads.read_model(tmp_path / name)
                for name in ("one.json", "two.json"))
    assert one.coef.tobytes() == two.coef.tobytes()
