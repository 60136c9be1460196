#!/usr/bin/env bash
# `profctl summarize` against whatever other programs do similar work on the same file. A peer that
# is not installed is named and skipped; a new one is a function here and a line at the end.

source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
need_ours

# awk: the least that a script must do to add up the durations of leaves by function.
peer_awk() {
    has awk || return 0
    local file program
    file=$(trace function_graph)
    program='/\(\);$/ { gsub(/[+!#*@$|]/, " "); sum[$4] += $2; n[$4]++ }
             END { for (name in sum) print name, n[name], sum[name] }'
    compare "function_graph, awk adds up leaves" "$file" \
        "$profctl" summarize --threads 1 FILE -- awk "$program" FILE
}

# python3: the same loop, as most people write it first.
peer_python() {
    has python3 || return 0
    local file program
    file=$(trace function_graph)
    program='
import sys
total = {}
for line in open(sys.argv[1]):
    if line.endswith("();\n"):
        duration, _, name = line[4:].partition("|")
        total[name.strip()] = total.get(name.strip(), 0.0) + float(duration.lstrip("+!#*@$ ").split()[0])
print(len(total))'
    compare "function_graph, python3 adds up leaves" "$file" \
        "$profctl" summarize --threads 1 FILE -- python3 -c "$program" FILE
}

# grep: how fast lines can be told apart at all.
peer_grep() {
    has grep || return 0
    local file
    file=$(trace function_graph)
    compare "function_graph, grep -c of leaves" "$file" \
        "$profctl" summarize --threads 1 FILE -- grep -c '();$' FILE
}

printf '%-44s %10s %10s\n' "" profctl peer
peer_grep
peer_awk
peer_python
