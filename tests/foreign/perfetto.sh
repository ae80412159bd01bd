#!/bin/sh
# SPDX-License-Identifier: MIT
# Builds Perfetto's trace_processor from source and lets it import Chrome JSON files: every error counter of its must be 0.
# By hand only: the build takes half an hour of two cores. Needs git, gn (Debian: generate-ninja), ninja, g++ and the
# development packages of protobuf (with protoc), zlib and sqlite3.
#   tests/foreign/perfetto.sh WORK_DIR FILE.json...    the sources are cloned into WORK_DIR/perfetto unless they are there
set -eu
if [ $# -lt 2 ]; then
    sed -n '3,6s/^# //p' "$0" >&2
    exit 2
fi
work=$1
shift
source=$work/perfetto
shell=$source/out/release/trace_processor_shell

if [ ! -d "$source" ]; then
    git clone --depth 1 "${PERFETTO_URL:-https://github.com/google/perfetto}" "$source"
fi
if [ ! -x "$shell" ]; then
    mkdir -p "$source/out/release"
    # The system's libraries in place of the ones that Perfetto downloads; what JSON does not need is left out.
    cat >"$source/out/release/args.gn" <<'ARGS'
is_debug = false
is_clang = false
use_custom_libcxx = false
is_hermetic_clang = false
skip_buildtools_check = true
perfetto_use_system_protobuf = true
perfetto_use_system_sqlite = true
perfetto_use_system_zlib = true
enable_perfetto_trace_processor_json = true
enable_perfetto_ui = false
enable_perfetto_unittests = false
enable_perfetto_integration_tests = false
enable_perfetto_benchmarks = false
enable_perfetto_fuzzers = false
enable_perfetto_grpc = false
enable_perfetto_llvm_demangle = false
enable_perfetto_llvm_symbolizer = false
enable_perfetto_heapprofd = false
enable_perfetto_traced_perf = false
enable_perfetto_traced_probes = false
enable_perfetto_tools = false
enable_perfetto_site = false
enable_perfetto_trace_processor_linenoise = false
enable_perfetto_trace_processor_percentile = false
enable_perfetto_trace_processor_mac_instruments = false
enable_perfetto_trace_processor_httpd = false
enable_perfetto_re2 = false
enable_perfetto_etm_importer = false
enable_perfetto_winscope = false
enable_perfetto_zstd = false
extra_cflags = "-O1 -g0 -w"
ARGS
    (cd "$source" && gn gen out/release && nice ninja -C out/release trace_processor_shell)
fi

failed=0
for file in "$@"; do
    echo "== $file"
    errors=$("$shell" query "$file" "SELECT name, value FROM stats WHERE severity IN ('error', 'data_loss') AND value != 0" 2>/dev/null ||
             "$shell" -Q "SELECT name, value FROM stats WHERE severity IN ('error', 'data_loss') AND value != 0" "$file")
    echo "$errors"
    # The answer's first line is the header; anything more is a counter that is not 0.
    if [ "$(echo "$errors" | sed '/^ *$/d' | sed '/^"*name/d; /^-* *-*$/d' | wc -l)" -ne 0 ]; then
        failed=1
    fi
    "$shell" -Q "SELECT (SELECT count(*) FROM slice) AS slices, (SELECT count(*) FROM flow) AS flows, (SELECT count(*) FROM counter) AS counters" "$file"
done
exit $failed
