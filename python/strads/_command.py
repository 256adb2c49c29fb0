"""The console command `strads`: the binary that the wheel carries."""
import os
import sys


def main():
    """Replaces this process by the command. Programs in Python, which `strads
    run` starts, use this interpreter."""
    os.environ.setdefault("STRADS_PYTHON", sys.executable)
    binary = os.path.join(os.path.dirname(__file__), "bin", "strads")
    os.execv(binary, ["strads", *sys.argv[1:]])
