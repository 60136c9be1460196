# Sourced by the scripts beside it: where things are, and CPU time measured in alternating pairs.
#
#   SIZE=1G PAIRS=5 PROFCTL=path/to/profctl scripts/compare/wc.sh
#
# CPU seconds (user and system) are compared, not wall time: on a machine that does other work,
# too, wall time means nothing. Pairs alternate, and the median ratio is printed, so that a machine
# that slows down half-way slows both sides.

set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
target=${CARGO_TARGET_DIR:-$root/target}
profctl=${PROFCTL:-$target/release/profctl}
make_trace=${MAKE_TRACE:-$target/release/make-trace}
size=${SIZE:-1G}
pairs=${PAIRS:-5}
scratch=${SCRATCH:-${TMPDIR:-/tmp}/profctl-compare}

# Exits unless our own programs are there, saying how to build them.
need_ours() {
    local program
    for program in "$profctl" "$make_trace"; do
        if [[ ! -x $program ]]; then
            echo "$program is not there: cargo build --release -p profctl -p profctl-testkit" >&2
            exit 2
        fi
    done
}

# trace FORMAT: the path of a generated trace of $size, which is created if needed.
trace() {
    local path=$scratch/$1-$size.trace
    mkdir -p "$scratch"
    if [[ ! -s $path ]]; then
        "$make_trace" "$1" "$size" >"$path.part"
        mv "$path.part" "$path"
    fi
    echo "$path"
}

# directory FORMAT: the same for a format whose traces are directories.
directory() {
    local path=$scratch/$1-$size.directory
    mkdir -p "$scratch"
    if [[ ! -d $path ]]; then
        rm -rf "$path.part"
        "$make_trace" "$1" "$size" "$path.part"
        mv "$path.part" "$path"
    fi
    echo "$path"
}

# has PROGRAM: whether it is installed; says so if not, and the caller skips that comparison.
has() {
    if ! command -v "$1" >/dev/null; then
        echo "skipped: $1 is not installed" >&2
        return 1
    fi
}

# compare LABEL FILE OURS... -- THEIRS...: one line with the median CPU seconds of both and the
# median ratio, ours to theirs. Words that are exactly FILE stand for the file.
compare() {
    local label=$1 file=$2
    shift 2
    find "$file" -type f -exec cat {} + >/dev/null
    python3 "$root/scripts/compare/pairs.py" "$pairs" "$label" "$file" "$@"
}
