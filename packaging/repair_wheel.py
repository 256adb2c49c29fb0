#!/usr/bin/python3
"""repair_wheel.py WHEEL FOLDER: makes a manylinux wheel of a Linux wheel.

The wheel in FOLDER carries the shared libraries that manylinux systems lack,
under names with a hash of their contents, so that no other copy in the process
takes their place. The platform of its name has the C library of this system,
which is the oldest that it runs on. For Debian: the licences of the libraries
come from their packages. The wheel may be for another processor, if this system
has libraries for it. Needs binutils and patchelf.
"""
import base64
import csv
import hashlib
import io
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

# Those of PEP 600's systems that C code needs.
SYSTEM = re.compile(r"(ld-linux-(x86-64|aarch64)|lib(c|dl|gcc_s|m|pthread|rt))\.so\.")
LIBRARIES = "strads.libs"
# Processors by their number in ELF files.
MACHINES = {62: "x86_64", 183: "aarch64"}


def run(*words):
    """The output of a program."""
    return subprocess.run(words, check=True, stdout=subprocess.PIPE,
                          text=True).stdout


def is_elf(path):
    """Whether a file is a program or a shared library."""
    with open(path, "rb") as file:
        return file.read(4) == b"\x7fELF"


def needed(path):
    """Names of the shared libraries that a file loads."""
    return run("patchelf", "--print-needed", path).split()


def c_library(path):
    """The newest version of the C library that a file uses, as (2, 36)."""
    found = re.findall(r"\bGLIBC_(\d+)\.(\d+)",
                       run("readelf", "--wide", "--version-info", path))
    return max((int(a), int(b)) for a, b in found)


def machine_of(path):
    """The processor that a file is for, as in the names of platforms."""
    with open(path, "rb") as file:
        number = int.from_bytes(file.read(20)[18:20], "little")
    if number not in MACHINES:
        raise SystemExit(f"{path}: is for an unknown processor, {number}")
    return MACHINES[number]


def find(path, name):
    """Where the loader finds the library `name` that `path` needs."""
    machine = machine_of(path)
    if machine != os.uname().machine:
        for folder in (f"/lib/{machine}-linux-gnu",
                       f"/usr/lib/{machine}-linux-gnu"):
            if os.path.exists(f"{folder}/{name}"):
                return Path(folder, name)
        raise SystemExit(f"{path}: needs {name} for {machine}, which is not "
                         "installed")
    match = re.search(rf"^\s*{re.escape(name)} => (/\S+)", run("ldd", path),
                      re.MULTILINE)
    if not match:
        raise SystemExit(f"{path}: needs {name}, which is not installed")
    return Path(match[1])


class Wheel:
    """An unpacked wheel."""

    def __init__(self, top):
        self.top = top
        self.libraries = top / LIBRARIES
        self.info, = top.glob("*.dist-info")
        self.own = {path.name for path in top.rglob("*") if path.is_file()}
        self.carried = {}       # name in the system: name in the wheel

    def carry(self, source):
        """Copies a library of the system, and the libraries that it needs."""
        self.libraries.mkdir(exist_ok=True)
        digest = hashlib.sha256(source.read_bytes()).hexdigest()[:8]
        stem, version = source.name.split(".so", 1)
        name = f"{stem}-{digest}.so{version}"
        copy = self.libraries / name
        shutil.copy(source, copy)
        copy.chmod(0o755)
        self.carried[source.name] = name
        self.link(copy, source)
        run("patchelf", "--set-soname", name, copy)
        self.add_licence(source)

    def link(self, path, source):
        """Links a file to the libraries of the wheel. `source` is where the
        loader finds those that are not in it yet."""
        changed = False
        for name in needed(path):
            if SYSTEM.match(name) or name in self.own:
                continue
            if name not in self.carried:
                self.carry(find(source, name))
            run("patchelf", "--replace-needed", name, self.carried[name], path)
            changed = True
        places = [place for place in
                  run("patchelf", "--print-rpath", path).strip().split(":")
                  if place.startswith("$ORIGIN")]
        if changed:
            way = os.path.relpath(self.libraries, path.parent)
            places.append("$ORIGIN" if way == "." else f"$ORIGIN/{way}")
        if places:
            run("patchelf", "--set-rpath", ":".join(places), path)
        else:
            run("patchelf", "--remove-rpath", path)

    def add_licence(self, library):
        """Copies the licence of a library's package."""
        for name in (library, library.resolve()):
            found = subprocess.run(["dpkg-query", "-S", name], check=False,
                                   capture_output=True, text=True).stdout
            if found:
                package = found.split(":")[0]
                break
        else:
            raise SystemExit(f"{library}: no Debian package has it, so that "
                             "its licence is unknown")
        folder = self.info / "licenses"
        folder.mkdir(exist_ok=True)
        shutil.copy(f"/usr/share/doc/{package}/copyright", folder / package)

    def check_c_library(self, newest):
        """Fails if a file needs a newer C library than `newest`."""
        for path in self.top.rglob("*"):
            if path.is_file() and is_elf(path) and c_library(path) > newest:
                raise SystemExit(f"{path}: needs a newer C library than "
                                 f"{newest[0]}.{newest[1]}")

    def write_platform(self, platform):
        """Writes the platform into the tags; returns the name of the wheel."""
        file = self.info / "WHEEL"
        text = re.sub(r"^(Tag: \S+-)\S+$", rf"\g<1>{platform}",
                      file.read_text(), flags=re.MULTILINE)
        file.write_text(text)
        tag = re.search(r"^Tag: (\S+)$", text, re.MULTILINE)[1]
        return f"{self.info.stem}-{tag}.whl"

    def write(self, path):
        """Packs the wheel, with a new RECORD."""
        record = self.info / "RECORD"
        rows = io.StringIO()
        lines = csv.writer(rows, lineterminator="\n")
        files = sorted(p for p in self.top.rglob("*") if p.is_file())
        for file in files:
            if file != record:
                digest = base64.urlsafe_b64encode(
                    hashlib.sha256(file.read_bytes()).digest())
                lines.writerow([file.relative_to(self.top),
                                "sha256=" + digest.decode().rstrip("="),
                                file.stat().st_size])
        lines.writerow([record.relative_to(self.top), "", ""])
        record.write_text(rows.getvalue())
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            for file in files:
                archive.write(file, file.relative_to(self.top))


def unpack(path, top):
    """Unpacks a wheel, with the modes of its files."""
    with zipfile.ZipFile(path) as archive:
        for entry in archive.infolist():
            place = archive.extract(entry, top)
            os.chmod(place, entry.external_attr >> 16 & 0o777)


def main():
    """Repairs the wheel and prints its path."""
    if len(sys.argv) != 3:
        raise SystemExit(__doc__.splitlines()[0])
    given, folder = Path(sys.argv[1]), Path(sys.argv[2])
    version = os.confstr("CS_GNU_LIBC_VERSION").split()[1]
    newest = tuple(int(part) for part in version.split("."))
    with tempfile.TemporaryDirectory() as scratch:
        top = Path(scratch)
        unpack(given, top)
        wheel = Wheel(top)
        files = [path for path in sorted(top.rglob("*"))
                 if path.is_file() and is_elf(path)]
        machines = {machine_of(path) for path in files}
        if len(machines) != 1:
            raise SystemExit(f"{given}: has files for {sorted(machines)}; one "
                             "processor is expected")
        for path in files:
            wheel.link(path, path)
        wheel.check_c_library(newest)
        name = wheel.write_platform(
            f"manylinux_{newest[0]}_{newest[1]}_{machines.pop()}")
        folder.mkdir(parents=True, exist_ok=True)
        wheel.write(folder / name)
    print(folder / name)


if __name__ == "__main__":
    main()
