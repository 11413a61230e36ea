"""Modules of the program that run as processes of their own."""

import os
import sys


def command_of(module: str) -> list[str]:
    """The command that runs a module by this interpreter."""
    return [sys.executable, "-m", module]


def environment() -> dict[str, str]:
    """The environment in which such a command finds the packages wherever this process has."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
