// The differential flame graph: the paths of two sides joined, each as wide as on one side or as
// on the side where it is wider. Colors say how much more or less; gray was not tested.

const SIDES = { before: 'before', after: 'after', both: 'the larger of both' };

function* diffModel(page, block, options) {
  const { head, columns } = block;
  const n = head.n;
  const column = (name) => columns[name] || new Float64Array(n);
  const before = { calls: column('before_calls'), elapsed: column('before_elapsed'), net: column('before_net') };
  const after = { calls: column('after_calls'), elapsed: column('after_elapsed'), net: column('after_net') };
  const seen = column('seen');
  const unproven = column('unproven');
  const depths = column('depth');
  const paths = { n, func: column('name'), parent: new Int32Array(n) };
  const open = [];
  let depth = 0;
  for (let i = 0; i < n; i++) {
    depth += depths[i];
    paths.parent[i] = depth > 0 ? open[depth - 1] : -1;
    open[depth] = i;
  }
  const own = {
    before: (i) => before.net[i],
    after: (i) => after.net[i],
    both: (i) => Math.max(before.net[i], after.net[i]),
  }[options.side];
  const nameOf = (path) => head.names[paths.func[path]];
  const laid = yield* spread(paths, own, nameOf);
  const base = yield* graphRows(laid, options.upwards, ROW + BARS);
  const of = base.rows;
  const totals = { before: sum(before.net), after: sum(after.net) };
  const clock = page.diffClock;
  const paints = column('paint');
  const verdicts = column('verdict');
  const renamed = column('renamed');
  const side = (cost, total, path) =>
    `${lengthWithUnit(cost.elapsed[path], clock)}, net ${lengthWithUnit(cost.net[path], clock)}, `
    + `${count(cost.calls[path], 'call', 'calls')} (${share(cost.elapsed[path], total)} of all)`;
  return {
    ...base,
    kind: 'diff',
    noun: ['path', 'paths'],
    clock,
    total: laid.total,
    paint: (i) => (of.func[i] === ALL ? page.rootPaint : paints[of.path[i]]),
    label(i) {
      if (of.func[i] === ALL) return `${head.before} → ${head.after}`;
      const path = of.path[i];
      const sign = seen[path] === 1 ? '− ' : seen[path] === 2 ? '+ ' : '';
      return sign + nameOf(path);
    },
    names: head.names,
    isHatched: (i) => of.func[i] !== ALL && unproven[of.path[i]] === 1,
    func: (i) => of.func[i],
    weight: (i) => of.end[i] - of.start[i],
    /** How far a box was filled before and after, as parts of its width. */
    bars(i) {
      if (options.side !== 'both' || of.func[i] === ALL) return null;
      const path = of.path[i];
      const most = Math.max(before.elapsed[path], after.elapsed[path]);
      return most > 0 ? [before.elapsed[path] / most, after.elapsed[path] / most] : null;
    },
    describe(i) {
      if (of.func[i] === ALL) {
        const facts = [
          ['before, net', lengthWithUnit(totals.before, clock)],
          ['after, net', lengthWithUnit(totals.after, clock)],
          ...difference(totals.before, totals.after, null),
        ];
        return { title: 'all paths', what: `widths: ${SIDES[options.side]}`, facts, remarks: [] };
      }
      const path = of.path[i];
      const facts = [];
      facts.push(['before', seen[path] & 1 ? side(before, totals.before, path) : 'not there']);
      facts.push(['after', seen[path] & 2 ? side(after, totals.after, path) : 'not there']);
      facts.push(...difference(before.elapsed[path], after.elapsed[path], totals));
      facts.push(['verdict', head.verdicts[verdicts[path]]]);
      const remarks = renamed[path] > 0 ? [`before: ${head.names[renamed[path]]}`] : [];
      const what = seen[path] === 1 ? 'gone' : seen[path] === 2 ? 'new' : 'on both sides';
      return { title: nameOf(path), what, facts, remarks };
    },
    describeCrowd: (from, to) => crowdOfPaths(of, from, to, laid.total, clock),
  };

  /** A difference told in the three ways in which it can be meant. */
  function difference(was, is, all) {
    const facts = [['absolute', change(is - was, clock)]];
    const signed = (value) => `${value > 0 ? '+' : ''}${value.toFixed(2)}`;
    facts.push(['relative', was > 0 ? `${signed(((is - was) / was) * 100)}%` : '-']);
    if (all && all.before > 0 && all.after > 0) {
      facts.push(['share', `${signed((is / all.after - was / all.before) * 100)} points`]);
    }
    return facts;
  }
}

function sum(values) {
  let sum = 0;
  for (const value of values) sum += value;
  return sum;
}
