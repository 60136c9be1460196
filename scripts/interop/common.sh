# Shared by the checks. Each check opens exported files with the reader of another tool and compares
# the calls and the net time of every function with `profctl summarize`. It is sourced.
#
# Where the tools are: TOOLS (default target/interop, where scripts/interop/install puts them).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
check=$(basename "$0" .sh)
TOOLS=$(realpath -m "${TOOLS:-target/interop}")
PROFCTL=${PROFCTL:-${CARGO_TARGET_DIR:-target}/debug/profctl}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Traces whose calls lie in time as their lengths say, so that a viewer can add them up: some of
# the fixtures, and two generated ones of thousands of calls.
traces=(
    fixtures/plain/recursion.txt
    fixtures/plain/long-jump.txt
    fixtures/plain/lost-events.txt
    fixtures/plain/equal-times.txt
)
# The same with threads that are switched out within calls, and with instants: which calls that
# concerns, not every form has a place for.
switched=(
    fixtures/systemview/demo.SVDat
    fixtures/kdump/freebsd-TER.txt
    fixtures/ktrace/freebsd-v1-amd64.ktrace.out
)
for form in plain mcrae; do
    cargo run --quiet --package profctl-testkit --bin make-trace -- "$form" 300K 1 >"$work/$form.txt"
    traces+=("$work/$form.txt")
done

skip() {
    echo "$check: skipped: $1 (scripts/interop/install puts it in place)"
    exit 0
}

# The functions of a trace with all their calls and their net time, by name.
expected() {
    "$PROFCTL" summarize --quiet --format csv --columns calls,partial,net,name "$1" | tr -d "\r" |
        awk -F, 'NR > 1 { print $4 "\t" $1 + $2 "\t" $3 }' | LC_ALL=C sort
}

# Compares what came from a reader, in the same form, with what we say.
same() {
    local trace=$1 form=$2 found=$3
    expected "$trace" >"$work/expected"
    LC_ALL=C sort "$found" >"$work/found"
    if ! diff -u --label profctl "$work/expected" --label "$check" "$work/found"; then
        echo "$check: $form of $trace differs"
        exit 1
    fi
    echo "$check: $form of $trace: $(wc -l <"$work/found") functions, the same sums"
}
