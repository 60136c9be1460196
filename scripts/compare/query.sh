#!/usr/bin/env bash
# A trace of fifty million calls, asked in SQL: time and peak memory of `profctl query`, from the trace
# and beside DuckDB over the Parquet file that `profctl convert` writes of it.
#
#   CALLS=50000000 PROFCTL=path/to/profctl scripts/compare/query.sh
#
# Needs a release build with SQL. DuckDB is fetched with pip into a directory of its own ($VENV); it
# is skipped if that fails. What profctl does in one step, reading included, DuckDB does in two.

source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

calls=${CALLS:-50000000}
venv=${VENV:-$scratch/venv}
need_ours

# A call takes about that many bytes of text.
size=${SIZE_OF_TRACE:-$((calls * 73 / 1000000 + 1))M}
trace=$(trace function_graph)
parquet=$scratch/spans-$size.parquet

# measured COMMAND…: runs it and says what it took.
measured() {
    python3 - "$@" <<'PYTHON'
import os, resource, subprocess, sys, time

start = time.monotonic()
done = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL)
wall = time.monotonic() - start
used = resource.getrusage(resource.RUSAGE_CHILDREN)
cpu = used.ru_utime + used.ru_stime
print(f"{wall:8.1f} s  {cpu:8.1f} CPU s  {used.ru_maxrss / 1024:8.0f} MB")
sys.exit(done.returncode)
PYTHON
}

flat="SELECT name, COUNT(*) AS calls, SUM(net) AS net FROM spans GROUP BY name ORDER BY net DESC LIMIT 10"
window="SELECT thread, MAX(elapsed) AS longest FROM spans WHERE partial = 0 AND depth = 1 GROUP BY thread ORDER BY longest DESC LIMIT 10"
edges="SELECT p.kind AS caller, c.kind AS callee, COUNT(*) AS calls FROM spans c JOIN spans p ON c.parent = p.id WHERE c.net > 50000 GROUP BY caller, callee ORDER BY calls DESC"

echo "$trace: $(stat -c %s "$trace") bytes"
printf '%-36s' "profctl: calls" && "$profctl" query --format csv "$trace" "SELECT COUNT(*) AS n FROM spans" | tail -1
printf '%-36s' "profctl summarize" && measured "$profctl" summarize "$trace"
printf '%-36s' "profctl convert to Parquet" && measured "$profctl" convert "$trace" -o "$parquet"
echo "$parquet: $(stat -c %s "$parquet") bytes"
for query in flat window edges; do
    printf '%-36s' "profctl query, from text: $query" && measured "$profctl" query "$trace" "${!query}"
    printf '%-36s' "from that Parquet: $query" && measured "$profctl" query "$parquet" "${!query}"
done
printf '%-36s' "profctl summarize of that Parquet" && measured "$profctl" summarize "$parquet"

if [[ ! -x $venv/bin/python ]]; then
    python3 -m venv "$venv" && "$venv/bin/pip" install --quiet duckdb || {
        echo "DuckDB cannot be fetched: skipped" >&2
        exit 0
    }
fi
for query in flat window edges; do
    printf '%-36s' "DuckDB, from that Parquet: $query"
    measured "$venv/bin/python" -c "
import duckdb, sys
duckdb.sql(\"CREATE VIEW spans AS SELECT * FROM '$parquet'\")
print(duckdb.sql(sys.argv[1]).fetchall())" "${!query}"
done
