"""Prints the numbers that the tests of `diff::stats::bootstrap` expect, worked out from the papers
with plain Python (3.11):

    python3 bootstrap.py
"""

import math
from fractions import Fraction

MASK = (1 << 64) - 1


class Random:
    """Splitmix64, and a number below `end` by the upper half of a product."""

    def __init__(self, seed):
        self.state = seed

    def below(self, end):
        self.state = (self.state + 0x9E3779B97F4A7C15) & MASK
        mixed = self.state
        mixed = ((mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        mixed = ((mixed ^ (mixed >> 27)) * 0x94D049BB133111EB) & MASK
        return ((mixed ^ (mixed >> 31)) * end) >> 64


def series(n, phi):
    """An autoregression of the first order."""
    value, values = 0.0, []
    for k in range(n):
        value = phi * value + (((k * k * 7919 + k * 13) % 1000) / 1000 - 0.4995)
        values.append(value)
    return values


def covariance(values, lag):
    mean = sum(values) / len(values)
    pairs = zip(values[lag:], values)
    return sum((a - mean) * (b - mean) for a, b in pairs) / len(values)


def block_length(values):
    """Politis and White (2004) with the correction of Patton, Politis and White (2009), before it is
    rounded, and the longest that is allowed."""
    n = len(values)
    most = min(3 * math.sqrt(n), n / 3)
    if n < 10:
        return 1.0, 1.0
    lags = range(1, n // 2)
    rho = {k: covariance(values, k) / covariance(values, 0) for k in lags}
    enough = max(5, int(math.sqrt(math.log10(n))))
    small = 2 * math.sqrt(math.log10(n) / n)
    last = len(lags)
    for candidate in range(len(lags)):
        if all(abs(rho.get(candidate + k, 0)) < small for k in range(1, enough + 1)):
            last = candidate
            break
    reach = min(2 * last, len(lags))

    def window(k):
        share = Fraction(abs(k), reach)
        return 1.0 if share <= Fraction(1, 2) else 2 * (1 - float(share))

    around = [k for k in range(-reach, reach + 1) if k]
    spectrum = 1 + sum(window(k) * rho[abs(k)] for k in around)
    slope = sum(window(k) * abs(k) * rho[abs(k)] for k in around)
    return (2 * slope**2 / (4 / 3 * spectrum**2)) ** (1 / 3) * n ** (1 / 3), most


def effective_sample_size(values):
    """Geyer (1992)."""
    n, pair, time = len(values), 0, -1.0
    while n >= 4 and pair < n // 2:
        both = covariance(values, 2 * pair) + covariance(values, 2 * pair + 1)
        if both <= 0:
            break
        time += 2 * both / covariance(values, 0)
        pair += 1
    return max(n / max(time, 1), 1)


def quantile(values, share):
    values = sorted(values)
    place = share * (len(values) - 1)
    low = int(place)
    high = min(low + 1, len(values) - 1)
    return values[low] + (values[high] - values[low]) * (place - low)


def of(blocks):
    """Calls, their sum, the mean of all, and the squares of what each block is off."""
    calls, total = sum(b[0] for b in blocks), sum(b[1] for b in blocks)
    mean = total / calls
    return calls, mean, sum((b[1] - mean * b[0]) ** 2 for b in blocks)


def joined(blocks):
    size = -(-len(blocks) // 512)
    chunks = [blocks[at : at + size] for at in range(0, len(blocks) - size + 1, size)]
    return [tuple(map(sum, zip(*chunk))) for chunk in chunks]


def side(blocks, random):
    blocks = joined(blocks)
    n = len(blocks)
    calls, mean, _ = of(blocks)
    best, most = block_length([b[1] - mean * b[0] for b in blocks])
    length = round(min(max(best, 1), most))

    def stretch(start, taken):
        return tuple(map(sum, zip(*(blocks[(start + at) % n] for at in range(taken)))))

    all_of_them = [stretch(start, length) for start in range(n)]
    spread = sum((b[1] - mean * b[0]) ** 2 for b in all_of_them) / n * -(-n // length)
    found = (math.log(mean), math.sqrt(spread) / calls / mean)
    drawn = []
    for _ in range(999):
        stretches, left = [], n
        while left:
            taken = min(length, left)
            stretches.append(stretch(random.below(n), taken))
            left -= taken
        calls_drawn, mean_drawn, squares = of(stretches)
        k = len(stretches)
        # Of a single stretch, nothing is known of its error.
        error = math.sqrt(squares * k / (k - 1)) / calls_drawn / mean_drawn if k > 1 else math.nan
        drawn.append((math.log(mean_drawn), error))
    return length, found, drawn


def ratio(before, after, seed):
    """Davison and Hinkley (1997), section 5.2."""
    random = Random(seed)
    length_before, found_before, drawn_before = side(before, random)
    length_after, found_after, drawn_after = side(after, random)
    log = found_after[0] - found_before[0]
    error = math.hypot(found_after[1], found_before[1])
    t = [
        (a[0] - b[0] - log) / math.hypot(a[1], b[1])
        for b, a in zip(drawn_before, drawn_after)
        if math.hypot(a[1], b[1]) > 0
    ]
    if 2 * len(t) > 999:
        low, high = log - quantile(t, 0.975) * error, log - quantile(t, 0.025) * error
    else:
        logs = [a[0] - b[0] for b, a in zip(drawn_before, drawn_after)]
        low, high = quantile(logs, 0.025), quantile(logs, 0.975)
    # Of all blocks, also of those that are left over when neighbors are joined.
    whole = of(after)[1] / of(before)[1]
    low, high = whole * math.exp(low - log), whole * math.exp(high - log)
    return whole, low, high, length_before, length_after


def blocks(n, phi, scale):
    """Blocks of 1 to 3 calls that take about `scale` each."""
    return [
        (float(1 + k % 3), (1 + k % 3) * scale * (3 + value))
        for k, value in enumerate(series(n, phi))
    ]


if __name__ == "__main__":
    for n, phi in [(9, 0.9), (10, 0.9), (40, 0.99), (100, 0.6), (200, 0.9), (500, 0.8), (400, -0.5)]:
        print("length", n, phi, *block_length(series(n, phi)))
    for n in (9, 10, 12, 13, 14, 30, 60, 100):
        print("length of a line", n, *block_length([float(k) for k in range(n)]))
    for n, phi in [(3, 0.9), (4, 0.9), (10, 0.9), (100, 0.6), (500, 0.95), (400, -0.5)]:
        print("size", n, phi, effective_sample_size(series(n, phi)))
    print("size of signs", effective_sample_size([1.0, -1.0, 1.0, -1.0]))
    for n, period in [(12, 6), (12, 30), (40, 30), (100, 90), (100, 300)]:
        wave = [math.sin(2 * math.pi * k / period) for k in range(n)]
        print("length of a wave", n, period, *block_length(wave))
    for n, m, phi in [
        (2, 1, 0.5),
        (2, 2, 0.5),
        (4, 5, 0.5),
        (12, 30, 0.6),
        (60, 60, 0.8),
        (100, 200, 0.9),
        (600, 1300, 0.8),
    ]:
        print("ratio", n, m, phi, *ratio(blocks(n, phi, 2.0), blocks(m, phi, 3.0), 7))
