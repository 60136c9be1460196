"""Prints the shares that the tests of `diff::stats` expect, worked out from
docs/statistics.md ("Permutation check") with numpy 2.4 and scipy 1.17:

    python3 permutations.py
"""

import itertools
import math

import numpy as np
from scipy import stats

FDR, MARGIN, D0, EXPECTED, LEAST = 0.05, math.log2(1.05), 12.0, 1e-4, 4e-6
# Half of the functions are of a measure that has more of the error rate than the other.
WEIGHTS = [1.8, 0.2]
# Pairs or not, runs per side, functions, and what they are like.
CASES = [
    (False, 4, 90, "noisy"),
    (False, 3, 20, "noisy"),
    (True, 5, 24, "noisy"),
    (False, 4, 24, "few"),
    (False, 4, 44, "both"),
    (False, 4, 60, "many"),
]


def value(function, run, n, kind):
    """Four functions change; the others are noisy, or in two states by a pattern they share."""
    random = function * function * 7919 + run * 104729 + function * run * run * 31
    random = random % 101 / 101 - 0.5
    change = [0.34, 0.16, -0.25, 0.12][function] if function < 4 and run >= n else 0.0
    is_noisy = kind == "noisy" and function >= 4 or kind == "both" and function >= 16
    size = 0.25 if is_noisy else 0.02
    pattern = {"noisy": 0, "many": 0b1001_0110_1100 >> function % 5}.get(kind, 0b0101_1010)
    slow = function >= 4 and not is_noisy and pattern >> run % 8 & 1 == 1
    return size * random + change + (0.2 if slow else 0.0)


def weight(function, run):
    """One run of every fifth function is less precise than the others."""
    return 0.25 if function % 5 == 1 and run == function % 8 else 1.0


def known(function, run):
    return not (function == 7 and run == 2)


def compare(function, on, n, paired, kind):
    """The change if the runs `on` are after (or pairs are swapped), its error and its freedom."""
    runs = [run for run in range(n if paired else 2 * n) if known(function, run)]
    if paired:
        pairs = [(run, run + n) for run in runs]
        d = np.array([value(function, b, n, kind) - value(function, a, n, kind) for a, b in pairs])
        w = np.array([2 / (1 / weight(function, a) + 1 / weight(function, b)) for a, b in pairs])
        d = np.where([run in on for run in runs], -d, d)
        change, unit, df = np.average(d, weights=w), 1 / w.sum(), len(d) - 1
        squares = (w * (d - change) ** 2).sum()
    else:
        y = np.array([value(function, run, n, kind) for run in runs])
        w = np.array([weight(function, run) for run in runs])
        after = np.array([run in on for run in runs])
        means = [np.average(y[side], weights=w[side]) for side in (~after, after)]
        unit = sum(1 / w[side].sum() for side in (~after, after))
        change, df = means[1] - means[0], len(y) - 2
        squares = (w * (y - np.where(after, means[1], means[0])) ** 2).sum()
    variance = max((max(squares, LEAST * df) + D0 * EXPECTED) / (df + D0), LEAST)
    return change, math.sqrt(variance * unit), df + D0


def chance(found, function, rule):
    """Of such a change, as its weight counts; none of one that `rule` does not look at."""
    change, se, df = found
    if rule == "margin":
        p = stats.t.sf((abs(change) - MARGIN) / se, df)
    else:
        p = 2 * stats.t.sf(abs(change) / se, df) if abs(change) > MARGIN else math.inf
    return p / WEIGHTS[function % 2]


def shares(rule, functions, n, paired, kind):
    truth = frozenset() if paired else frozenset(range(n, 2 * n))
    everyone = frozenset(range(n if paired else 2 * n))
    assignments = [
        frozenset(assignment)
        for size in (range(n + 1) if paired else [n])
        for assignment in itertools.combinations(everyone, size)
    ]
    assignments = [one for one in assignments if one not in (truth, everyone - truth)]
    true = {function: compare(function, truth, n, paired, kind) for function in functions}
    p = {function: chance(true[function], function, rule) for function in functions}

    def adjusted(times, distance):
        """Corrected chances, by their weights."""
        chances = [
            times * stats.t.sf(distance(c) / se, df) / WEIGHTS[f % 2]
            for f, (c, se, df) in true.items()
        ]
        return stats.false_discovery_control(np.minimum(chances, 1))

    # Adjusted in each direction for changes beyond the margin, in both at once for others.
    if rule == "margin":
        slower, faster = adjusted(1, lambda c: c - MARGIN), adjusted(1, lambda c: -c - MARGIN)
        q = dict(zip(functions, np.minimum(slower, faster)))
    else:
        q = dict(zip(functions, adjusted(2, abs)))
    reported = [f for f in functions if q[f] <= FDR and abs(true[f][0]) > MARGIN]
    alone = FDR / len(functions)
    tie = 1 + 1e-9
    last = max(p[f] for f in reported)
    of_assignments = []
    for assignment in assignments:
        found = {f: chance(compare(f, assignment, n, paired, kind), f, rule) for f in functions}
        level = {f: tie * (last if f in reported else max(last, alone)) for f in functions}
        of_assignments.append({f: c for f, c in found.items() if c <= level[f]})
    usual = sorted(len(of) for of in of_assignments)[len(of_assignments) // 2]
    # Up to a tenth of the assignments may be omitted.
    ranked = sorted(of_assignments, key=len)
    for _ in range(math.ceil(len(of_assignments) / 10)):
        if len(ranked[-1]) > max(10, 5 * usual):
            ranked.pop()
    result, least = {}, 1.0
    for f in sorted(reported, key=lambda f: -p[f]):
        level = {g: tie * (p[f] if g in reported else max(p[f], alone)) for g in functions}
        by_chance = sum(c <= level[g] for of in ranked for g, c in of.items())
        by_chance /= 1 if rule == "margin" else 2
        alike = sum(p[g] <= p[f] * tie and (true[g][0] > 0) == (true[f][0] > 0) for g in reported)
        least = min(least, by_chance / len(ranked) / alike)
        result[f] = least
    return len(assignments), len(assignments) - len(ranked), usual, result


if __name__ == "__main__":
    for function, on, paired in [
        (6, {0, 1, 4, 5}, False),
        (7, {0, 3, 4}, False),
        (6, {0, 3}, True),
        (7, {0, 3}, True),
    ]:
        print(paired, function, on, *map(repr, compare(function, on, 4, paired, "noisy")[:2]))
    for paired, n, functions, kind in CASES:
        for rule in ("margin", "zero"):
            assignments, out, usual, found = shares(rule, range(functions), n, paired, kind)
            found = [(function, float(share)) for function, share in sorted(found.items())]
            counts = f"{assignments} assignments, {out} out, {usual} usual"
            print(paired, n, functions, kind, rule, counts, found)
