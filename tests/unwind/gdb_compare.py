# SPDX-License-Identifier: MIT
"""Runs inside gdb: steps a program to random places and compares gdb's frames with unwind_probe's. Prints JSON lines."""
import json
import os
import random
import subprocess

import gdb

REGISTERS = ["rax", "rdx", "rcx", "rbx", "rsi", "rdi", "rbp", "rsp"] + ["r%d" % i for i in range(8, 16)] + ["rip"]
STACK_BYTES = 65536
PLACES = int(os.environ["HP_UNWIND_PLACES"])
START = os.environ["HP_UNWIND_START"]
STEP = int(os.environ.get("HP_UNWIND_STEP", "400"))


def read_stack(address):
    inferior = gdb.selected_inferior()
    size = STACK_BYTES
    while size >= 16:
        try:
            return bytes(inferior.read_memory(address, size))
        except gdb.MemoryError:
            size = size * 7 // 8
    return b""


def code_ranges():
    ranges = []
    with open("/proc/%d/maps" % gdb.selected_inferior().pid) as maps:
        for line in maps:
            words = line.split()
            if "x" in words[1]:
                ranges.append(tuple(int(number, 16) for number in words[0].split("-")))
    return ranges


def gdb_frames():
    frames = []
    code = code_ranges()
    frame = gdb.newest_frame()
    why = ""
    while frame is not None and len(frames) < 500:
        try:
            # Without unwind information gdb guesses; where the guess is not even code, its stack has ended.
            if not any(start <= frame.pc() < end for start, end in code):
                return frames, "not code"
            if frame.type() != gdb.INLINE_FRAME:
                # A tail call's frame is reconstructed from call site notes; it is not on the stack.
                if frame.type() != gdb.TAILCALL_FRAME:
                    frames.append((frame.pc(), frame.name() or "?", frame.type() == gdb.SIGTRAMP_FRAME))
            why = gdb.frame_stop_reason_string(frame.unwind_stop_reason())
            frame = frame.older()
        except (gdb.error, gdb.MemoryError) as problem:
            return frames, str(problem)
    return frames, why


class Probe:
    def __init__(self):
        self.process = subprocess.Popen([os.environ["HP_UNWIND_PROBE"]], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        universal_newlines=True)

    def ask(self):
        frame = gdb.newest_frame()
        values = [int(frame.read_register(name)) & (2**64 - 1) for name in REGISTERS]
        stack = read_stack(values[7])
        pid = gdb.selected_inferior().pid
        numbers = ["%x" % pid, "%x" % values[7], "%x" % 0x1ffff] + ["%x" % value for value in values]
        self.process.stdin.write(" ".join(numbers) + " " + stack.hex() + "\n")
        self.process.stdin.flush()
        frames = []
        for line in self.process.stdout:
            word, rest = line.rstrip("\n").split(" ", 1)
            if word == "end":
                return frames, rest
            frames.append((int(word, 16), rest))
        raise RuntimeError("unwind_probe ended")


def compare(probe):
    theirs, their_end = gdb_frames()
    ours, our_end = probe.ask()
    print("\nPLACE " + json.dumps({"gdb": theirs, "gdb_end": their_end, "ours": ours, "end": our_end}), flush=True)


def settings():
    for line in ("pagination off", "confirm off", "height 0", "width 0", "backtrace past-main on", "backtrace past-entry on",
                 "debuginfod enabled off", "breakpoint pending on", "startup-with-shell off", "print thread-events off"):
        try:
            gdb.execute("set " + line)
        except gdb.error:
            pass
    for signal in ("SIGALRM", "SIGUSR1", "SIGUSR2", "SIGPROF", "SIGSEGV", "SIGFPE"):
        gdb.execute("handle %s nostop noprint pass" % signal, to_string=True)


def main():
    settings()
    random.seed(int(os.environ.get("HP_UNWIND_SEED", "1")))
    probe = Probe()
    gdb.execute("break " + START, to_string=True)
    gdb.execute("run", to_string=True)
    gdb.execute("delete", to_string=True)
    for _ in range(PLACES):
        try:
            # Mostly near places, so that prologues, epilogues and linkage stubs are met; sometimes far ones.
            count = random.randint(1, 12) if random.random() < 0.5 else random.randint(1, STEP)
            gdb.execute("stepi %d" % count, to_string=True)
            if not gdb.selected_inferior().pid:
                break
            compare(probe)
        except gdb.error as problem:
            print("NOTE " + str(problem), flush=True)
            break
    gdb.execute("kill", to_string=True)
    gdb.execute("quit")


main()
