"""Builds the extension over the installed libstrads; see README.md."""
from setuptools import setup

setup(cffi_modules=["strads_build.py:ffi"])
