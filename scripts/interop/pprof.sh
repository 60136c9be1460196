#!/bin/bash
# pprof reads what we write for it.
source "$(dirname "$0")/common.sh"
pprof=$TOOLS/bin/pprof
[ -x "$pprof" ] || skip "pprof is not in $TOOLS"

top() {
    "$pprof" -top -nodecount=0 -nodefraction=0 -sample_index="$1" -unit="$2" "$work/trace.pb.gz" 2>"$work/talk" |
        awk 'seen {
            value = $1
            sub(/[a-z]+$/, "", value)
            for (column = 1; column <= 5; column++) sub(/^ *[^ ]+ +/, "")
            print $0 "\t" value
        } $1 == "flat" { seen = 1 }' | LC_ALL=C sort
}
for trace in "${traces[@]}" "${switched[@]}"; do
    "$PROFCTL" convert --quiet -o "$work/trace.pb.gz" "$trace"
    # It omits zeros, and counts complete calls only.
    top net ns >"$work/net"
    top calls count >"$work/calls"
    "$PROFCTL" summarize --quiet --format csv --columns calls,net,name "$trace" | tr -d "\r" | tail -n +2 >"$work/ours"
    awk -F, '$2 > 0 { print $3 "\t" $2 }' "$work/ours" | LC_ALL=C sort >"$work/ours.net"
    awk -F, '$1 > 0 { print $3 "\t" $1 }' "$work/ours" | LC_ALL=C sort >"$work/ours.calls"
    for value in net calls; do
        awk '$2 != 0' "$work/$value" | diff -u --label profctl "$work/ours.$value" --label pprof - ||
            { echo "$check: $value of $trace differs"; exit 1; }
    done
    echo "$check: $trace: $(wc -l <"$work/ours") functions, the same sums"
done
