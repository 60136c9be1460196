# Common tasks. Without `just`, run the commands of a recipe; `cargo test --workspace` needs nothing else.

# List the recipes.
default:
    @just --list

# What CI runs: format, lints, tests, documentation.
check:
    cargo fmt --all --check
    cargo clippy --workspace --all-targets --locked -- -D warnings
    cargo clippy --workspace --all-targets --features profctl/tables --locked -- -D warnings
    cargo test --workspace --locked
    cargo test --workspace --features profctl/tables --locked --test it -- query:: pages:: tables::
    RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --locked

# Run the tests, or those whose name contains FILTER.
test FILTER="":
    cargo test --workspace {{ FILTER }}

# Test the HTML pages in a headless Chromium; pages and screenshots go to FOLDER.
e2e FOLDER="":
    scripts/e2e/run {{ FOLDER }}

# Take pictures of twelve pages in both color schemes and three sizes, to look at [default FOLDER: target/pictures].
pictures FOLDER="":
    cargo build --quiet --package profctl
    npm ci --prefix scripts/e2e --ignore-scripts --no-audit --no-fund --silent
    node scripts/e2e/pictures.mjs {{ FOLDER }}

# Test the package for Spark on a cluster of this machine (needs Java and Python).
spark *ARGUMENTS:
    integrations/spark/test {{ ARGUMENTS }}

# Install the program with SQL and Parquet, which take minutes to build.
install:
    cargo install --path crates/profctl --features tables

# Measure against other programs, keep the record in bench/history, and pass it to the gate (SCRIPTS: wc, peers, scaling).
bench *SCRIPTS="":
    cargo build --quiet --release --package profctl --package profctl-testkit
    SIZE="${SIZE:-300M}" scripts/compare/record.py {{ SCRIPTS }}

# Run the benchmarks of single parts, or those whose name contains FILTER.
bench-parts FILTER="":
    cargo bench --package profctl-bench -- {{ FILTER }}

# Fuzz every reader for SECONDS (needs the nightly compiler and cargo-fuzz), or only TARGETS (`reader:chrome`).
fuzz SECONDS="60" *TARGETS="":
    scripts/fuzz {{ SECONDS }} {{ TARGETS }}

# Fuzz every reader for ten minutes, which takes a night, and count the inputs in docs/quality.md.
fuzz-night:
    scripts/fuzz --write 600

# Change the stitcher, the selection and the statistics in small ways, SHARD of all (`0/100`), and list changes that no test notices (needs cargo-mutants).
mutants SHARD="0/100" *ARGUMENTS="":
    cargo mutants --shard {{ SHARD }} {{ ARGUMENTS }}

# Print how much of each file the tests reach (needs cargo-llvm-cov); `just coverage --html` shows the lines.
coverage *ARGUMENTS="":
    cargo llvm-cov --workspace --no-fail-fast {{ ARGUMENTS }}

# Run the model and the stitcher under an interpreter that finds undefined behavior (needs the nightly compiler with miri).
miri:
    MIRIFLAGS=-Zmiri-disable-isolation PROPTEST_CASES=4 cargo +nightly miri test --package profctl-model --lib
    MIRIFLAGS=-Zmiri-disable-isolation PROPTEST_CASES=4 cargo +nightly miri test --package profctl-import --lib -- stitch::

# Check licenses, sources, advisories and what must not come in (needs cargo-deny).
deny:
    cargo deny --all-features check

# Hold a release build to the budget of time and memory with inputs of up to SIZE calls, names, threads.
budget SIZE="1000000":
    PROFCTL_BUDGET={{ SIZE }} cargo test --release --package profctl --test it -- budget::

# Build and test for other processors and systems, as far as this machine has compilers and emulators.
targets *TARGETS="":
    scripts/targets {{ TARGETS }}

# Make the archives, the Debian package and the checksums of a release, in target/dist.
release *TARGETS="":
    scripts/release {{ TARGETS }}

# Make the image of a container (needs podman, docker or buildah, and `just release`).
image:
    $(command -v podman || command -v docker || command -v buildah) build --file Containerfile --tag profctl \
        --build-arg VERSION="$(cargo pkgid --package profctl | sed 's/.*[#@]//')" target/dist

# Build the documentation as a book, in target/book (needs mdbook).
book:
    mdbook build

# Update expected output: review the diff before you commit it.
golden:
    UPDATE_EXPECT=1 cargo test --workspace --features profctl/tables

# Update the generated pages of docs/.
docs:
    cargo xtask docs

# Run the main commands on a trace of 1993.
demo:
    cargo run --quiet --package profctl -- info fixtures/mcrae/trace.txt
    cargo run --quiet --package profctl -- summarize --top 10 fixtures/mcrae/trace.txt
    cargo run --quiet --package profctl -- tree --depth 3 fixtures/mcrae/trace.txt
    cargo run --quiet --package profctl -- replay --highlight 1000us fixtures/mcrae/trace.txt

# Write a generated trace of about SIZE (`200M`, `10G`) to standard output.
make-trace FORMAT SIZE SEED="1":
    @cargo run --quiet --release --package profctl-testkit --bin make-trace -- {{ FORMAT }} {{ SIZE }} {{ SEED }}

# Measure the error rates of the gate and write them to docs/statistics.md.
calibrate REPEATS="200":
    @cargo run --quiet --profile calibrate --package profctl-bench --bin calibrate_gate -- --write {{ REPEATS }}

# The same for steps planted in series of builds.
calibrate-history REPEATS="4":
    @cargo run --quiet --profile calibrate --package profctl-bench --bin calibrate_history -- --write {{ REPEATS }}

# Measure the gate with the recordings in FOLDER (`../shared/kernel/stat`): their runs assigned to two sides, changes planted.
calibrate-real FOLDER="" COMPARISONS="300":
    @cargo run --quiet --profile calibrate --package profctl-bench --bin calibrate_real -- --write "{{ FOLDER }}" {{ COMPARISONS }}

# Install the readers of other tools for `just interop`.
interop-install:
    scripts/interop/install

# Open exports with the readers of other tools, and compare the sums.
interop:
    cargo build --quiet --package profctl --features tables
    scripts/interop/run
