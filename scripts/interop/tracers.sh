#!/bin/bash
# The tools that recorded the fixtures say the same of them: trace-cmd, uftrace, babeltrace2, strace.
# They are packages of Debian; one that is not installed is skipped.
set -euo pipefail
cd "$(dirname "$0")/../.."
check=tracers
PROFCTL=${PROFCTL:-${CARGO_TARGET_DIR:-target}/debug/profctl}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

installed() {
    command -v "$1" >/dev/null && return
    echo "$check: skipped: $1 is not installed"
    return 1
}

same_number() {
    local what=$1 ours=$2 theirs=$3
    if [ "$ours" != "$theirs" ]; then
        echo "$check: $what: $ours here, $theirs there"
        exit 1
    fi
    echo "$check: $what: $ours, the same"
}

# A number of the totals of a saved profile.
total() {
    "$PROFCTL" summarize --quiet --format json "$2" |
        python3 -c "import json, sys; print(json.load(sys.stdin)['totals']['$1'])"
}

if installed trace-cmd; then
    # Without its plugins it prints a line for each record. Debian builds it without zlib.
    for dat in fixtures/trace_dat/*.dat; do
        case $dat in *zlib*) continue ;; esac
        theirs=$(trace-cmd report -N -i "$dat" 2>/dev/null | grep -cE '\[[0-9]{3}\] +[0-9.]+:')
        same_number "records of $dat, trace-cmd report -N" "$(total events "$dat")" "$theirs"
        # The same recording in both versions.
        for as in "--file-version 6" "--file-version 7" "--compression none"; do
            # shellcheck disable=SC2086 # an option and its value
            trace-cmd convert -i "$dat" -o "$work/converted.dat" $as >"$work/said" 2>&1 ||
                { cat "$work/said"; exit 1; }
            # It writes version 6 without CPUs if the file does not state their number.
            trace-cmd report -i "$work/converted.dat" 2>/dev/null | grep -q : || continue
            for file in "$dat" "$work/converted.dat"; do
                "$PROFCTL" summarize --quiet --format csv "$file" >"$work/$(basename "$file").csv"
            done
            cmp "$work/$(basename "$dat").csv" "$work/converted.dat.csv"
        done
        echo "$check: $dat: converted to both versions, the same"
    done
fi

if installed uftrace; then
    # All calls of these recordings are complete.
    for folder in fixtures/uftrace/{sleep-0.13,classes-0.19}; do
        uftrace report --no-pager -d "$folder" -f call 2>/dev/null |
            awk 'NR > 2 { n = $1; $1 = ""; sub(/^ +/, ""); print $0 "\t" n }' | LC_ALL=C sort >"$work/theirs"
        "$PROFCTL" summarize --quiet --format csv --no-demangle --columns calls,name "$folder" | tr -d "\r" |
            awk -F, 'NR > 1 { n = $1; sub(/^[^,]*,/, ""); print $0 "\t" n }' | LC_ALL=C sort >"$work/ours"
        # C++ names are printed in different ways.
        cut -f 2 "$work/theirs" | sort >"$work/their-calls"
        cut -f 2 "$work/ours" | sort >"$work/our-calls"
        diff -u --label profctl "$work/our-calls" --label uftrace "$work/their-calls" ||
            { echo "$check: calls of $folder differ"; exit 1; }
        echo "$check: $folder: $(wc -l <"$work/ours") functions, as often as uftrace report says"
    done
fi

if installed babeltrace2; then
    for folder in fixtures/ctf/*/; do
        theirs=$(babeltrace2 "$folder" 2>/dev/null | wc -l)
        same_number "events of $folder, babeltrace2" "$(total events "$folder")" "$theirs"
        babeltrace2 "$folder" >"$work/text" 2>/dev/null
        same_number "events of its text" "$(total events "$work/text")" "$theirs"
    done
    for folder in fixtures/ctf/kernel-*/; do
        babeltrace2 --clock-seconds "$folder" 2>/dev/null | scripts/interop/kernel_calls.py |
            cut -f 1,2 | LC_ALL=C sort >"$work/theirs"
        "$PROFCTL" summarize --quiet --format csv --columns calls,name "$folder" | tr -d "\r" |
            awk -F, 'NR > 1 && $1 > 0 { print $2 "\t" $1 }' | LC_ALL=C sort >"$work/ours"
        diff -u --label profctl "$work/ours" --label babeltrace2 "$work/theirs" ||
            { echo "$check: calls of $folder differ"; exit 1; }
        echo "$check: $folder: $(wc -l <"$work/ours") names, as many calls as in babeltrace2's text"
    done
fi

if installed strace; then
    # A program of ours, traced now: calls by name as strace counts them.
    strace -f -ttt -T -o "$work/strace" sh -c 'ls / >/dev/null; cat /proc/self/stat >/dev/null' 2>/dev/null
    strace -f -c -o "$work/counts" sh -c 'ls / >/dev/null; cat /proc/self/stat >/dev/null' 2>/dev/null
    theirs=$(awk '$NF == "execve" { print $4 }' "$work/counts")
    ours=$("$PROFCTL" summarize --quiet --format csv --columns calls,partial,name "$work/strace" | tr -d "\r" |
        awk -F, '$3 == "execve" { print $1 + $2 }')
    same_number "calls of execve, strace -c" "$ours" "$theirs"
fi
