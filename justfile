# The habits of this house. Without `just`, run what a recipe says; `cargo test --workspace` needs
# nothing else.

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

# Install the program with everything that it can do: SQL and Parquet take minutes to build.
install:
    cargo install --path crates/profctl --features tables

# Run the benchmarks, or those whose name contains FILTER.
bench FILTER="":
    cargo bench --package profctl-bench -- {{ FILTER }}

# Run each fuzz target for SECONDS (needs the nightly compiler and cargo-fuzz).
fuzz SECONDS="60":
    for target in $(cargo +nightly fuzz list); do cargo +nightly fuzz run "$target" -- -max_total_time={{ SECONDS }} || exit 1; done

# Check that what is written opens in the tools that it is for (needs Python and pip).
interop:
    cargo build --package profctl --features tables
    scripts/interop/duckdb.sh

# Rewrite what tests expect to what they find: read the diff before you commit it.
golden:
    UPDATE_EXPECT=1 cargo test --workspace --features profctl/tables

# Write the pages of docs/ that the program generates.
docs:
    cargo xtask docs

# Show what the program does with a trace of 1993.
demo:
    cargo run --quiet --package profctl -- info fixtures/mcrae/trace.txt
    cargo run --quiet --package profctl -- summarize --top 10 fixtures/mcrae/trace.txt
    cargo run --quiet --package profctl -- tree --depth 3 fixtures/mcrae/trace.txt
    cargo run --quiet --package profctl -- replay --highlight 1000us fixtures/mcrae/trace.txt

# Write a made-up trace of about SIZE (`200M`, `10G`) to standard output.
make-trace FORMAT SIZE SEED="1":
    @cargo run --quiet --release --package profctl-testkit --bin make-trace -- {{ FORMAT }} {{ SIZE }} {{ SEED }}

# Measure how often `diff` is wrong where nothing changed, and what it finds where something did.
calibrate REPEATS="200":
    @cargo run --quiet --release --package profctl-bench --bin calibrate -- {{ REPEATS }}

# Install other people's readers of what `convert` writes, for `just interop`.
interop-install:
    scripts/interop/install

# Open what `convert` writes with other people's readers, and compare the sums.
interop:
    cargo build --quiet --package profctl
    scripts/interop/run
