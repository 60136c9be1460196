#!/usr/bin/env bash
# A dataset that `convert` wrote opens in DuckDB, pyarrow and pandas, and has the sums that
# `summarize` prints: function for function, run for run.
#
#   PROFCTL=path/to/profctl scripts/interop/duckdb.sh [TRACE…]
#
# Needs a build with SQL. Python with DuckDB, pyarrow and pandas is in TOOLS, where
# scripts/interop/install puts it, or in VENV.

set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
target=${CARGO_TARGET_DIR:-$root/target}
profctl=${PROFCTL:-$target/debug/profctl}
venv=${VENV:-${TOOLS:-$root/target/interop}/duckdb}

if [[ ! -x $profctl ]]; then
    echo "$profctl is not there: cargo build -p profctl --features tables" >&2
    exit 2
fi
if [[ ! -x $venv/bin/python ]]; then
    echo "duckdb: skipped: no DuckDB (scripts/interop/install puts it in place)"
    exit 0
fi

cd "$root"
traces=("$@")
if [[ ${#traces[@]} -eq 0 ]]; then
    traces=(fixtures/mcrae/trace.txt fixtures/function_graph/*.txt fixtures/ktrace/*.out)
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

"$profctl" convert --quiet --format parquet --partition -o "$work/spans" "${traces[@]}"
"$profctl" convert --quiet --table runs -o "$work/runs.parquet" "${traces[@]}"
"$profctl" convert --quiet -o "$work/spans.parquet" "${traces[@]}"
"$profctl" convert --quiet -o "$work/spans.csv" "${traces[@]}"
"$profctl" convert --quiet -o "$work/spans.jsonl" "${traces[@]}"
for index in "${!traces[@]}"; do
    "$profctl" summarize --format json "${traces[$index]}" >"$work/$index.json"
done

"$venv/bin/python" - "$work" "${traces[@]}" <<'PYTHON'
import json, sys
import duckdb, pandas, pyarrow.parquet

work, traces = sys.argv[1], sys.argv[2:]
sums = """SELECT name, module, COUNT(*) - SUM(partial) AS calls, SUM(partial) AS partial, SUM(net) AS net,
                 SUM(stolen) AS stolen, SUM(wall * outermost) AS wall, SUM(elapsed * outermost) AS elapsed"""
fields = ["calls", "partial", "net", "stolen", "wall", "elapsed"]


def summaries(query):
    """By run and function, what a query sums up."""
    rows = duckdb.sql(query).fetchall()
    return {(run, name, module): tuple(int(value) for value in rest) for run, name, module, *rest in rows}


runs = duckdb.sql(f"SELECT run, path, unit FROM '{work}/runs.parquet'").fetchall()
units = {unit for _, _, unit in runs}
assert units == {"ns"}, f"these traces are counted in {units}: choose others"
by_path = {path: run for run, path, _ in runs}
expected = {}
for index, trace in enumerate(traces):
    for function in json.load(open(f"{work}/{index}.json"))["functions"]:
        key = (by_path[trace], function["name"], function["module"])
        expected[key] = tuple(function[field] for field in fields)

group = "GROUP BY run, name, module"
whole = sums.replace("SELECT", "SELECT run,")
sources = {
    "a dataset partitioned by run": f"read_parquet('{work}/spans/*/*.parquet', hive_partitioning = true)",
    "one Parquet file": f"'{work}/spans.parquet'",
    "CSV": f"read_csv('{work}/spans.csv', all_varchar = false, nullstr = '', sample_size = -1)",
    "JSON lines": f"read_json('{work}/spans.jsonl', format = 'newline_delimited', sample_size = -1)",
}
for what, source in sources.items():
    found = summaries(f"{whole} FROM {source} {group}")
    difference = sorted(set(found.items()) ^ set(expected.items()), key=str)
    assert not difference, f"{what}: {difference[:4]}"
    print(f"DuckDB {duckdb.__version__}, {what}: {len(found)} functions as summarize has them")

file = pyarrow.parquet.ParquetFile(f"{work}/spans.parquet")
assert file.metadata.metadata[b"profctl.schema"] == b"profctl.spans/1"
assert file.schema_arrow.field("start").metadata[b"unit"] == b"ns"
group = file.metadata.row_group(0).column(file.schema_arrow.get_field_index("start"))
assert group.statistics.has_min_max and group.compression == "ZSTD"
frame = pandas.read_parquet(f"{work}/spans")
asked = ["name", "module", "kind", "thread"]
stored = pyarrow.parquet.read_table(f"{work}/spans.parquet", read_dictionary=asked).to_pandas()
assert all(stored[name].dtype == "category" for name in asked), stored.dtypes
net = frame.groupby(["run", "name"], observed=True)["net"].sum()
for (run, name), value in net.items():
    assert value == sum(row[2] for key, row in expected.items() if key[:2] == (run, name)), (run, name)
print(f"pyarrow {pyarrow.__version__}, pandas {pandas.__version__}: {len(frame)} calls, names as text and as categories, the same net")
PYTHON
