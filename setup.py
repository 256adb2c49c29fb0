"""Builds the Python package; pyproject.toml describes it.

CMake builds the library and the command, and the wheel carries both, in lib/
and bin/ of the package. With STRADS_LIBRARY=installed the extension is linked
to the libstrads that pkg-config (or the command in PKG_CONFIG) finds, and the
wheel has neither of them.
"""
import os
import shutil
import subprocess
from pathlib import Path

from setuptools import setup
from setuptools.command.build_ext import build_ext

ROOT = Path(__file__).resolve().parent
CHOICE = os.environ.get("STRADS_LIBRARY", "bundled")
if CHOICE not in ("bundled", "installed"):
    raise SystemExit(f"STRADS_LIBRARY is {CHOICE!r}; it has to be bundled "
                     "(the default) or installed")
BUNDLED = CHOICE == "bundled"


def pkg_config(what):
    """Flags of the installed libstrads."""
    try:
        return subprocess.run(
            [os.environ.get("PKG_CONFIG", "pkg-config"), what, "strads"],
            check=True, stdout=subprocess.PIPE, text=True).stdout.split()
    except (OSError, subprocess.CalledProcessError):
        raise SystemExit("STRADS_LIBRARY=installed: pkg-config does not find "
                         "strads; PKG_CONFIG_PATH may name the folder of "
                         "strads.pc") from None


class BuildExtension(build_ext):
    """Builds the library first, or finds it."""

    def run(self):
        for extension in self.extensions:
            if BUNDLED:
                extension.include_dirs.append(str(ROOT / "include"))
                extension.extra_link_args += [
                    f"-L{self.build_library()}", "-lstrads",
                    "-Wl,-rpath,$ORIGIN/lib"]
            else:
                extension.extra_compile_args += pkg_config("--cflags")
                extension.extra_link_args += pkg_config("--libs")
        super().run()

    def build_library(self):
        """Runs CMake, copies its results into the package and returns the
        folder of the library."""
        build = Path(self.get_finalized_command("build").build_base) / "cmake"
        generator = ["-G", "Ninja"] if shutil.which("ninja") else []
        subprocess.run(
            ["cmake", *generator, "-S", ROOT, "-B", build,
             "-DCMAKE_BUILD_TYPE=Release", "-DSTRADS_GSL=OFF",
             "-DSTRADS_PMIX=OFF", "-DSTRADS_TESTS=OFF", "-DSTRADS_BENCH=OFF"],
            check=True)
        subprocess.run(
            ["cmake", "--build", build, "--parallel", str(os.cpu_count()),
             "--target", "strads", "strads-command"], check=True)
        package = Path(self.get_ext_fullpath("strads._strads")).parent
        for built in ("libstrads.so.0", "bin/strads"):
            place = package / ("bin" if built.startswith("bin") else "lib")
            place.mkdir(parents=True, exist_ok=True)
            shutil.copy(build / built, place)
        return build


# Versions of setuptools disagree about the form of a licence in pyproject.toml.
setup(
    license="Apache-2.0",
    cffi_modules=["python/strads_build.py:ffi"],
    cmdclass={"build_ext": BuildExtension},
    # One wheel for all versions of Python, and a build folder of its own
    # beside those of CMake's presets.
    options={"bdist_wheel": {"py_limited_api": "cp39"},
             "build": {"build_base": "build/python"}},
    entry_points={"console_scripts": ["strads = strads._command:main"]
                  if BUNDLED else []},
)
