#!/usr/bin/env bash
# Prints the peak memory and the wall time of exports and pictures of a large trace, and fails if a
# peak is above $LIMIT megabytes: memory must not grow with the trace.
#
#   SIZE=1G LIMIT=128 scripts/compare/memory.sh

source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
need_ours
limit=${LIMIT:-128}
input=$(trace function_graph)
export TMPDIR=$scratch
failed=0

# measure WHAT ARGUMENT…: runs profctl and prints a line.
measure() {
    local what=$1 kilobytes seconds verdict=ok
    shift
    /usr/bin/time -f '%M %e' -o "$scratch/figures" "$profctl" -q "$@" >"$scratch/out"
    read -r kilobytes seconds <"$scratch/figures"
    if ((kilobytes >= limit << 10)); then
        verdict="above $limit MB"
        failed=1
    fi
    printf '%-20s %5d MB %8s s   %s\n' "$what" $((kilobytes >> 10)) "$seconds" "$verdict"
}

measure replay replay "$input"
measure 'flame, graph.svg' flame --kind graph "$input" -o "$scratch/graph.svg"
for format in folded chrome perfetto speedscope pprof; do
    measure "convert, $format" convert --format "$format" "$input"
done
rm -f "$scratch/out" "$scratch/figures" "$scratch/graph.svg"
exit "$failed"
