#!/usr/bin/env bash
# The path across threads, and schedules, against `summarize` on the same recording of switches, wakings
# and system calls: 11 M events in 1.2 GB. The target: at most 3 times the CPU of `summarize`.

SIZE=${SIZE:-1200M}
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
need_ours

file=$(trace ftrace-sched)
printf '%-44s %10s %10s\n' "" "" summarize
for command in "critical-path" "critical-path --by thread" "critical-path --format json" "sched"; do
    # Words apart.
    compare "$command" "$file" "$profctl" $command --jobs 1 FILE -- "$profctl" summarize --jobs 1 FILE
done
