#!/bin/bash
# Folded stacks are added up by a few words of awk.
source "$(dirname "$0")/common.sh"
for trace in "${traces[@]}" "${switched[@]}"; do
    "$PROFCTL" convert --quiet --format folded -o "$work/trace" "$trace"
    awk '{ n = $NF; sub(/ [0-9]+$/, ""); depth = split($0, stack, ";"); sum[stack[depth]] += n }
        END { for (name in sum) if (sum[name]) print name "\t" sum[name] }' "$work/trace" |
        LC_ALL=C sort >"$work/rows"
    "$PROFCTL" summarize --quiet --format csv --columns net,name "$trace" | tr -d "\r" |
        awk -F, 'NR > 1 && $1 > 0 { print $2 "\t" $1 }' | LC_ALL=C sort >"$work/ours"
    diff -u --label profctl "$work/ours" --label awk "$work/rows" ||
        { echo "$check: $trace differs"; exit 1; }
    echo "$check: $trace: $(wc -l <"$work/rows") functions, the same sums"
done
