// The call tree: the paths of the picture as rows that open.

/** Callees of one path that are listed. */
const CALLEES_MAX = 100;

/** Shows the tree of `paths`; `pick(path)` is called with the path that was chosen. */
function callTree(paths, total, page, pick) {
  const width = widthsOf(paths, (i) => paths.net[i]);
  // Callees as lists: by caller, -1 as 0, the first; by path, the next of the same caller.
  const first = new Int32Array(paths.n + 1).fill(-1);
  const next = new Int32Array(paths.n);
  for (let i = paths.n - 1; i >= 0; i--) {
    next[i] = first[paths.parent[i] + 1];
    first[paths.parent[i] + 1] = i;
  }
  const nameOf = (i) => page.functions[paths.func[i]].name;
  const isLeafPath = (path) => first[path + 1] < 0;
  const inOrder = (above) => {
    const all = [];
    for (let i = first[above + 1]; i >= 0; i = next[i]) all.push(i);
    return all.sort((a, b) => width[b] - width[a] || (nameOf(a) < nameOf(b) ? -1 : 1));
  };
  const body = make('tbody', {});
  const heading = ['function', '%', 'elapsed', 'net', '# calls'];
  const table = make('table', { class: 'plain sums tree', role: 'treegrid', 'aria-label': 'call tree' },
    make('thead', {}, make('tr', {}, heading.map((text, k) =>
      make('th', { scope: 'col', class: k > 0 ? 'number' : false, title: k === 2 || k === 3 ? page.clock.label : false }, text)))), body);

  /** Rows of the callees of `above`, before the row `before`. */
  function add(above, level, before) {
    const all = inOrder(above);
    for (const path of all.slice(0, CALLEES_MAX)) {
      const isLeaf = isLeafPath(path);
      const open = make('button', { type: 'button', class: 'open', 'aria-label': `callees of ${nameOf(path)}` }, isLeaf ? '' : '▸');
      const number = (text) => make('td', { class: 'number' }, text);
      const tr = make('tr', { role: 'row', 'aria-level': level, 'aria-expanded': isLeaf ? null : 'false' },
        make('td', { class: 'name', style: `padding-left:${level * 12 - 8}px;min-width:calc(24ch + ${level * 12}px)` }, open,
          make('button', { type: 'button', class: 'pick', title: nameOf(path), click: () => pick(path) }, nameOf(path))),
        number(share(width[path], total)), number(rounded(paths.elapsed[path], page.clock)),
        number(rounded(Math.max(paths.net[path], 0), page.clock)), number(String(paths.calls[path])));
      tr.flip = () => (tr.getAttribute('aria-expanded') === 'true' ? close(tr, level) : expand(tr, path, level));
      if (isLeaf) open.disabled = true;
      else open.addEventListener('click', tr.flip);
      tr.addEventListener('keydown', (event) => {
        const wanted = { ArrowRight: 'false', ArrowLeft: 'true' }[event.key];
        if (!wanted) return;
        event.preventDefault();
        event.stopPropagation();
        if (tr.getAttribute('aria-expanded') === wanted) tr.flip();
      });
      body.insertBefore(tr, before);
    }
    if (all.length > CALLEES_MAX) {
      const rest = count(all.length - CALLEES_MAX, 'function', 'functions');
      body.insertBefore(make('tr', { 'aria-level': level }, make('td', { colspan: '5', class: 'hint' }, `and ${rest} of less time`)), before);
    }
  }

  function expand(tr, path, level) {
    tr.setAttribute('aria-expanded', 'true');
    tr.querySelector('.open').textContent = '▾';
    add(path, level + 1, tr.nextSibling);
  }

  function close(tr, level) {
    tr.setAttribute('aria-expanded', 'false');
    tr.querySelector('.open').textContent = '▸';
    while (tr.nextSibling && Number(tr.nextSibling.getAttribute('aria-level')) > level) tr.nextSibling.remove();
  }

  add(-1, 1, null);
  // The path that takes most is open.
  let tr = body.firstElementChild;
  for (let path = inOrder(-1)[0], level = 1; path !== undefined && !isLeafPath(path) && level < 6; level++) {
    expand(tr, path, level);
    path = inOrder(path)[0];
    tr = tr.nextElementSibling;
  }
  return table;
}
