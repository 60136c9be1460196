#!/bin/bash
# What we write for speedscope is valid by the schema that speedscope ships, and adds up.
source "$(dirname "$0")/common.sh"
command -v node >/dev/null || skip "node is not here"
[ -d "$TOOLS/node_modules/speedscope" ] || skip "speedscope is not in $TOOLS"
for trace in "${traces[@]}"; do
    "$PROFCTL" convert --quiet --format speedscope -o "$work/trace" "$trace"
    NODE_PATH=$TOOLS/node_modules node scripts/interop/speedscope.js "$work/trace" >"$work/rows"
    same "$trace" speedscope "$work/rows"
done
