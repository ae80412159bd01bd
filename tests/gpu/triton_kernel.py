# SPDX-License-Identifier: MIT
"""A kernel for frameworks.py: Triton wants to read its source from a file."""
import triton
import triton.language as tl


@triton.jit
def add_one(data, count, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(data + at, tl.load(data + at, mask=at < count) + 1, mask=at < count)
