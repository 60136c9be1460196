#!/usr/bin/env bash
# `profctl summarize` against `wc -l` on the same generated function_graph texts. The targets: at most
# 6 times the CPU of `wc -l` with percentiles on one thread, 4.5 times without.

source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
need_ours

printf '%-44s %10s %10s\n' "" profctl "wc -l"
for format in function_graph function_graph-abstime-proc; do
    file=$(trace "$format")
    compare "$format" "$file" \
        "$profctl" summarize --jobs 1 FILE -- wc -l FILE
    compare "$format, percentiles" "$file" \
        "$profctl" summarize --jobs 1 --percentiles 50,90,99 FILE -- wc -l FILE
    compare "$format, 2 threads" "$file" \
        "$profctl" summarize --jobs 2 FILE -- wc -l FILE
done
