# SPDX-License-Identifier: MIT
"""What hangs says so."""
import pathlib
import sys

sys.path.insert(1, str(pathlib.Path(__file__).resolve().parents[1]))
import stuck


def pytest_configure(config):
    stuck.watch(config, wait_s=240)
