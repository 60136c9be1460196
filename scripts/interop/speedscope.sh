#!/bin/bash
# What we write for speedscope is valid by the schema that speedscope ships, and adds up; and speedscope
# itself, in a headless Chromium, opens it and trace events without a warning and with the same functions.
source "$(dirname "$0")/common.sh"
command -v node >/dev/null || skip "node is not here"
[ -d "$TOOLS/node_modules/speedscope" ] || skip "speedscope is not in $TOOLS"
sums() {
    NODE_PATH=$TOOLS/node_modules node scripts/interop/speedscope.js "$1" >"$work/rows"
}
for trace in "${traces[@]}"; do
    "$PROFCTL" convert --quiet --format speedscope -o "$work/trace" "$trace"
    sums "$work/trace"
    same "$trace" speedscope "$work/rows"
done
[ -d scripts/e2e/node_modules/playwright-core ] || skip "playwright-core is not here: scripts/e2e/run installs it"
# With modules, CPUs and thousands of calls that end together. A call without length that begins with its
# caller is more than speedscope can order.
traces=("$work/plain.txt" fixtures/plain/recursion.txt fixtures/plain/long-jump.txt fixtures/mcrae/trace.txt
    fixtures/sched/fgraph_chain.trace.txt.zst fixtures/function_graph/default-7.3.txt)
for trace in "${traces[@]}"; do
    for form in speedscope chrome; do
        "$PROFCTL" convert --quiet --format "$form" -o "$work/trace" "$trace"
        node scripts/interop/speedscope_app.mjs "$TOOLS/node_modules/speedscope" "$work/trace" "$work/opened"
        sums "$work/opened"
        # Frames are functions, and none with time is missing; speedscope drops calls without length.
        expected "$trace" | cut -f 1 | LC_ALL=C sort -u >"$work/all"
        expected "$trace" | awk -F'\t' '$3 > 0 { print $1 }' | LC_ALL=C sort -u >"$work/timed"
        cut -f 1 "$work/rows" | LC_ALL=C sort -u >"$work/found"
        LC_ALL=C comm -13 "$work/all" "$work/found" >"$work/odd"
        LC_ALL=C comm -23 "$work/timed" "$work/found" >>"$work/odd"
        [ ! -s "$work/odd" ] || { echo "$check: $form of $trace differs:"; head "$work/odd"; exit 1; }
        found=$(wc -l <"$work/found")
        echo "$check: speedscope opens $form of $trace: $found functions, no warning"
    done
done
