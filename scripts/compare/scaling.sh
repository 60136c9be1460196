#!/usr/bin/env bash
# How `profctl summarize` gains from more jobs: wall time at 1, 2, 4, … jobs up to the processors of
# this machine, and the serial part: the share of CPU time in what one thread at a time does in the
# order of the input (pairing, sorting, summing). Eight cores give six times at a tenth.
#
#   SIZE=300M PAIRS=5 scripts/compare/scaling.sh [FILE…]      the files, else generated ones
#
# Wall time needs an idle machine. The serial part is from samples of `perf record`, by the module of
# each function; those of the C library count as parallel, so it is a lower bound.

SIZE=${SIZE:-300M}
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
need_ours

serial='profctl_import::(stitch|sort|drive::stage|drive::merge|emit)|profctl_analyze::|profctl_model::span'

# seconds FILE JOBS: the wall times of $pairs runs.
seconds() {
    for ((run = 0; run < pairs; run++)); do
        /usr/bin/time -f %e "$profctl" -q summarize --jobs "$2" "$1" 2>&1 >/dev/null
    done
}

# least TIMES: the shortest.
least() {
    sort -n <<<"$1" | head -1
}

# record FILE TIMES_AT_TWO TIMES_AT_ONE: appends a row for record.py.
record() {
    printf '{"label": "%s, 2 jobs to 1", "what": "wall", "ours": [%s], "theirs": [%s], "memory": 0}\n' \
        "$(basename "$1")" "$(paste -sd, <<<"$2")" "$(paste -sd, <<<"$3")" >>"$RECORD"
}

# serial_part FILE: in percent.
serial_part() {
    local samples=$scratch/samples.data
    perf record --quiet --event cpu-clock:u --freq 1999 --output "$samples" \
        "$profctl" -q summarize --jobs 1 "$1" >/dev/null 2>&1
    perf report --quiet --input "$samples" --sort symbol 2>/dev/null |
        awk -v serial="$serial" '$0 ~ serial { sum += $1 } END { printf "%.0f %%", sum }'
    rm -f "$samples"
}

if [[ $# -eq 0 ]]; then
    set -- "$(trace function_graph)" "$(trace chrome)" "$(directory uftrace)"
fi
mkdir -p "$scratch"
for file in "$@"; do
    "$profctl" -q summarize "$file" >/dev/null
    printf '%-44s' "$(basename "$file")"
    all=$(seconds "$file" 1)
    one=$(least "$all")
    printf '  1 job %6s s' "$one"
    for ((jobs = 2; jobs <= $(nproc); jobs *= 2)); do
        times=$(seconds "$file" "$jobs")
        many=$(least "$times")
        if [[ -n ${RECORD:-} && $jobs -eq 2 ]]; then record "$file" "$times" "$all"; fi
        printf '  %d jobs %6s s (%s x)' "$jobs" "$many" \
            "$(awk -v one="$one" -v many="$many" 'BEGIN { printf "%.2f", one / many }')"
    done
    if has perf; then printf '  serial %s' "$(serial_part "$file")"; fi
    echo
done
