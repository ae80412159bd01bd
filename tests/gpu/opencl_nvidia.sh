#!/bin/sh
# SPDX-License-Identifier: MIT
# OpenCL on an NVIDIA GPU, by a program that was built elsewhere: what tests/cli/test_opencl.py shows on PoCL, as a table.
#
#   tests/gpu/opencl_nvidia.sh BUILD_FOLDER [WORK_FOLDER]
#
# Needed on the machine: the driver (libnvidia-opencl.so.1), a libOpenCL.so.1 (the CUDA toolkit has one; or name a folder with
# one in HPROFILER_OPENCL_LOADER), and of BUILD_FOLDER bin/hprofiler, lib/, bin/bench_opencl and tests/apps/opencl_target.
# Exit status: 0 all as expected, 1 something is not, 77 the machine cannot.
set -u

build=${1:?usage: opencl_nvidia.sh BUILD_FOLDER [WORK_FOLDER]}
work=${2:-$(mktemp -d)}
hprofiler=$build/bin/hprofiler
target=$build/tests/apps/opencl_target
failed=0
mkdir -p "$work/vendors"

skip() {
    echo "skipped: $*"
    exit 77
}

for folder in "${HPROFILER_OPENCL_LOADER:-}" /usr/local/cuda/lib64 /usr/local/cuda/targets/x86_64-linux/lib; do
    [ -n "$folder" ] && [ -e "$folder/libOpenCL.so.1" ] && LD_LIBRARY_PATH=$folder${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} && break
done
export LD_LIBRARY_PATH="${LD_LIBRARY_PATH:-}"
[ -x "$hprofiler" ] && [ -x "$target" ] || skip "$hprofiler or $target is missing"
driver=$(ldconfig -p 2>/dev/null | sed -n 's/.*libnvidia-opencl\.so\.1 .*=> //p' | head -1)
for path in /usr/local/nvidia/lib64/libnvidia-opencl.so.1 /usr/lib/x86_64-linux-gnu/libnvidia-opencl.so.1; do
    [ -z "$driver" ] && [ -e "$path" ] && driver=$path
done
[ -n "$driver" ] || skip "no libnvidia-opencl.so.1"
echo "$driver" >"$work/vendors/nvidia.icd"
export OCL_ICD_VENDORS="$work/vendors" OCL_ICD_FILENAMES="$driver"
"$target" names >"$work/probe" 2>&1 || skip "no OpenCL device: $(tail -1 "$work/probe")"

ask() { # TRACE SQL: one number or text
    "$hprofiler" query "$1" "$2" --format csv 2>/dev/null | sed -n 2p
}

lanes="from spans s join tracks t on t.id = s.track where t.kind = 'stream'"
commands="select count(*) $lanes"
kernels="$commands and s.kind = 'kernel'"
launches="select count(*) from spans where name glob 'clEnqueue*' and name <> 'clEnqueueBarrier' and json_extract(args, '\$.result') is null"
orphans="$commands and s.parent is null"
error="select max(cast(value as integer)) from metadata where key glob 'clock.device.*.error_ns'"
early="select count(*) from spans s join tracks t on t.id = s.track join spans p on p.id = s.parent where t.kind = 'stream'
    and s.begin_ns + ($error) < p.begin_ns"
earliest="select max(p.begin_ns - s.begin_ns) from spans s join tracks t on t.id = s.track join spans p on p.id = s.parent
    where t.kind = 'stream'"
late="select count(*) from links l join spans f on f.id = l.from_span join spans g on g.id = l.to_span where l.kind = 'sync'
    and f.end_ns > g.end_ns + ($error)"
ways="select group_concat(distinct name) from tracks where kind = 'device'"

printf '%-16s %-7s %5s %5s %6s %9s %8s %8s %8s %6s %6s %10s %10s\n' scenario way bare ours output commands expected kernels orphans early late error_ns earliest_ns
row() { # WAY SCENARIO...
    way=$1
    shift
    case $way in
    layer) prefix="env -u LD_PRELOAD" ;;
    preload) prefix="env -u OPENCL_LAYERS" ;;
    *) prefix=env ;;
    esac
    timeout 120 "$target" "$@" >"$work/bare.out" 2>"$work/bare.err"
    bare=$?
    trace=$work/$(echo "$way-$*" | tr ' ' '-').hpt
    timeout 120 "$hprofiler" run -b opencl --no-summary -o "$trace" -- $prefix "$target" "$@" >"$work/ours.out" 2>"$work/ours.err"
    ours=$?
    same=same
    cmp -s "$work/bare.out" "$work/ours.out" || same=OTHER
    found=$(ask "$trace" "$commands") expected=$(ask "$trace" "$launches") lost_parents=$(ask "$trace" "$orphans")
    before=$(ask "$trace" "$early") after=$(ask "$trace" "$late")
    printf '%-16s %-7s %5s %5s %6s %9s %8s %8s %8s %6s %6s %10s %10s\n' "$*" "$way" "$bare" "$ours" "$same" "$found" "$expected" \
        "$(ask "$trace" "$kernels")" "$lost_parents" "$before" "$after" "$(ask "$trace" "$error")" "$(ask "$trace" "$earliest")"
    grep '^hprofiler: warning' "$work/ours.err" | sed 's/^/    /'
    [ "$same" = OTHER ] && diff "$work/bare.out" "$work/ours.out" | sed 's/^/    /' | head -10
    case "$*" in left*) expected=$found ;; esac # what is under way at exit has no span
    [ "$bare" = "$ours" ] && [ $same = same ] && [ "$found" = "$expected" ] && [ "$lost_parents$before$after" = 000 ] || failed=1
}

for way in both layer preload; do
    row $way each
    row $way unordered
    row $way threads 8 500
done
for scenario in sees builds callback names order fork "left through" "left return" "left exit"; do
    row both $scenario
done
echo "device: $(ask "$work/both-each.hpt" "$ways")"
echo "links of 'unordered' (expected: 15 depend, 9 launch, 4 sync):"
"$hprofiler" query "$work/both-unordered.hpt" "select kind, count(*) count from links group by 1"
echo "the clock, as the longest trace has it:"
"$hprofiler" query "$work/both-threads-8-500.hpt" "select key, value from metadata where key glob 'clock.device.*'"
echo "when commands were queued, against the calls that enqueued them (ns; both at most error_ns if the queued time is of the same clock):"
queued="select max(p.begin_ns - (s.begin_ns - json_extract(s.args, '\$.queued_ns'))) before_its_call,
    max(s.begin_ns - json_extract(s.args, '\$.queued_ns') - p.end_ns) after_its_call
    from spans s join tracks t on t.id = s.track join spans p on p.id = s.parent where t.kind = 'stream' and s.args glob '*queued_ns*'"
"$hprofiler" query "$work/both-threads-8-500.hpt" "$queued"
"$hprofiler" query "$work/both-each.hpt" "$queued"
echo "memory over 200,000 launches:"
"$target" many 200000 2>&1 | sed 's/^/  bare: /'
"$hprofiler" run -b opencl --no-summary -o "$work/many.hpt" -- "$target" many 200000 2>&1 | sed 's/^/  ours: /'
echo "  kernels recorded: $(ask "$work/many.hpt" "select count(*) from spans where kind = 'kernel'") of 200000"
[ -x "$build/bin/bench_opencl" ] && "$build/bin/bench_opencl" "$hprofiler" 5
[ $failed = 0 ] && echo "all as expected" || echo "NOT as expected: see the rows above"
exit $failed
