// The picture of a page with its bar: which kind of picture, of what, and where to look in it.

const KINDS = { chart: 'Flame chart', graph: 'Flame graph', sandwich: 'Callers and callees', diff: 'Comparison' };

const KEYS = [
  ['← → ↑ ↓', 'select the sibling, the caller or the callee'],
  ['Enter', 'zoom to the selection'],
  ['W S or + −', 'zoom in, out'],
  ['A D', 'move left, right'],
  ['Page Up, Page Down', 'scroll through the rows'],
  ['0 or Home', 'show everything'],
  ['M', 'measure the selection, or the window'],
  ['F', 'callers and callees of the selected function'],
  ['/', 'search by regular expression'],
  ['N, Shift N', 'select the next match, the one before'],
  ['C, G', 'flame chart, flame graph'],
  ['T', 'dark or light'],
  ['Esc', 'clear the search, then the range, then the selection'],
  ['?', 'this list'],
  ['mouse', 'drag moves, Ctrl and wheel zooms, a click selects, another one zooms; drag along the scale, or with Shift, to select a range of time'],
];

/** Fills the section `host`; gives an object that takes what is decoded later. */
function startPicture(host, page) {
  const blocks = {};
  const kinds = page.kinds.flatMap((kind) => (kind === 'graph' ? ['graph', 'sandwich'] : [kind]));
  const functionOf = (name) => Math.max(page.functions.findIndex((known, f) => f > 0 && known.name === name), 0);
  let state = readFragment(page);
  let kind = kinds.includes(state.kind) ? state.kind : kinds[0];
  let restored = false;
  let timer = 0;
  /** The function between its callers and callees, and the changes to the paths. */
  let func = 0;
  let steps = [];

  const view = new View(host, page, (isStep) => (isStep ? step() : remember()));
  view.actionsOf = actionsOf;
  view.wasSelected = () => panel.open('selection');
  view.rangeChanged = () => {
    rangeChanged();
    if (view.range) panel.open('range');
  };
  const panel = startPanel(view.details, kinds.includes('graph') ? { tree: 'Call tree', range: 'Range' } : {}, () => fillPanel());
  const result = make('output', { class: 'result', 'aria-live': 'polite' });
  const field = make('input', {
    type: 'search', placeholder: 'Search (regular expression)', 'aria-label': 'search names by regular expression',
    spellcheck: 'false', autocomplete: 'off',
    input: () => {
      clearTimeout(timer);
      timer = setTimeout(search, 80);
    },
    keydown: (event) => {
      if (event.key === 'Enter') {
        event.preventDefault();
        clearTimeout(timer);
        if (field.value !== view.query) search();
        nextMatch(!event.shiftKey);
      } else if (event.key === 'Escape') {
        event.preventDefault();
        event.stopPropagation();
        field.value = '';
        search();
        view.canvas.focus();
      }
    },
  });
  const kindButtons = kinds.map((one) => make('button', { type: 'button', click: () => choose(one) }, KINDS[one]));
  const trees = page.trees;
  const thread = make('select', { 'aria-label': 'whose calls are merged', change: rebuild },
    make('option', { value: '-1' }, 'all threads'), trees.map((label, t) => make('option', { value: t }, label)));
  const side = make('select', { 'aria-label': 'what widths show', change: rebuild },
    Object.entries(SIDES).map(([value, label]) => make('option', { value }, `width: ${label}`)));
  const reverse = toggle('Callers', 'turn around: from each function to its callers', rebuild);
  const upwards = toggle('Upwards', 'callers below, as flames rise', rebuild);
  const recursion = toggle('Fold recursion', 'count a function below itself where it was first called', rebuild);
  const path = toggle('Critical path', 'mark the chain of calls that bounds the time', () => {
    view.showPath = isOn(path);
    if (view.showPath) view.goToPath();
    view.redraw();
    remember();
  });
  const changes = make('span', { class: 'group steps' });
  const help = make('dialog', { 'aria-label': 'keys' },
    make('h2', {}, 'Keys'),
    make('dl', { class: 'keys' }, KEYS.map(([keys, what]) => [make('dt', {}, keys), make('dd', {}, what)])),
    make('form', { method: 'dialog' }, make('button', { type: 'submit' }, 'Close')));
  const bar = make('div', { class: 'bar', role: 'toolbar', 'aria-label': 'picture' },
    make('div', { class: 'group' }, kindButtons),
    make('div', { class: 'group' }, trees.length > 1 ? thread : null, side, reverse, upwards, recursion, path),
    changes,
    make('div', { class: 'group find' }, field, result),
    make('div', { class: 'group end' },
      make('button', { type: 'button', click: () => view.wholeView(), title: 'show everything (0)' }, 'Reset'),
      make('button', { type: 'button', click: switchTheme, title: 'dark or light (T)', 'aria-label': 'dark or light' }, '◐'),
      make('button', { type: 'button', click: () => help.showModal(), title: 'keys (?)', 'aria-label': 'keys' }, '?')));
  const legend = make('p', { class: 'legend' });
  host.prepend(bar);
  host.append(legend, panel.element, help);

  document.addEventListener('keydown', (event) => {
    const typing = event.target.closest('input, select, textarea, dialog');
    if (typing || event.ctrlKey || event.metaKey || event.altKey) return;
    const actions = {
      '/': () => field.focus(),
      '?': () => help.showModal(),
      n: () => nextMatch(true),
      N: () => nextMatch(false),
      c: () => kinds.includes('chart') && choose('chart'),
      g: () => kinds.includes('graph') && choose('graph'),
      f: () => view.selected >= 0 && kinds.includes('sandwich') && showFunction(view.model.func(view.selected)),
      t: switchTheme,
      Escape: () => {
        if (field.value) {
          field.value = '';
          search();
        } else if (view.range) {
          view.selectRange(0, 0);
          rangeChanged();
        } else view.select(-1);
      },
    };
    const action = actions[event.key];
    // Wherever the focus is, letters move the picture; other keys may mean something there.
    if (!action && (event.target === document.body || /^[wasdm]$/i.test(event.key))) return view.key(event);
    if (!action) return;
    event.preventDefault();
    action();
  });
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => restyle());
  addEventListener('beforeprint', () => {
    printing = true;
    restyle();
    view.paint();
  });
  addEventListener('afterprint', () => {
    printing = false;
    restyle();
  });
  addEventListener('popstate', () => {
    clearTimeout(remembering);
    state = readFragment(page);
    kind = kinds.includes(state.kind) ? state.kind : kinds[0];
    adopt();
    restored = false;
    show();
  });

  /** Takes the settings of `state`. */
  function adopt() {
    field.value = state.q || '';
    side.value = state.side in SIDES ? state.side : 'both';
    thread.value = trees[state.thread] === undefined ? '-1' : state.thread;
    for (const [button, key] of [[reverse, 'rev'], [upwards, 'up'], [recursion, 'fold'], [path, 'path']]) setOn(button, state[key] === '1');
    view.showPath = isOn(path);
    func = functionOf(state.func);
    steps = state.do.map((text) => [text.slice(0, text.indexOf(':')), functionOf(text.slice(text.indexOf(':') + 1))])
      .filter(([what, of]) => what in STEPS && of > 0);
    const [from, to] = (state.range || '').split('-').map(Number);
    view.range = to > from ? [from, to] : null;
    view.lanes.restore(state);
  }

  function restyle() {
    view.retheme();
    drawLegend();
    dispatchEvent(new Event('profctl-theme'));
  }

  function switchTheme() {
    chooseTheme(isDark() ? 'light' : 'dark');
    restyle();
  }

  function search() {
    result.textContent = view.search(field.value);
    result.classList.toggle('wrong', result.textContent.startsWith('no regular'));
    remember();
  }

  function nextMatch(forwards) {
    view.nextMatch(forwards);
    const place = view.placeOfMatch();
    if (place) result.textContent = place + result.textContent.replace(/^\d+ of \d+: /, '');
  }

  function choose(one) {
    if (one === kind) return;
    step();
    if (one === 'sandwich') func = selectedFunction() || func;
    kind = one;
    show();
  }

  function rebuild() {
    step();
    show();
  }

  /** The function of the selected box; 0 if there is none. */
  function selectedFunction() {
    const { model, selected } = view;
    return model && model.kind !== 'diff' && selected >= 0 ? model.func(selected) : 0;
  }

  function showFunction(f) {
    if (f <= 0) return;
    step();
    kind = 'sandwich';
    func = f;
    show();
    view.canvas.focus({ preventScroll: true });
  }

  function changePaths(change) {
    step();
    steps = change(steps);
    if (kind === 'chart') kind = 'graph';
    show();
  }

  /** What can be done with what is selected. */
  function actionsOf({ func: f }) {
    if (!(f > 0) || !kinds.includes('sandwich') || page.functions[f].kind === 'thread') return '';
    const button = (text, title, click) => make('button', { type: 'button', title, click }, text);
    return make('p', { class: 'actions' },
      kind === 'chart' ? button('Measure', 'select its time as a range (M)', () => view.measureSelection()) : null,
      button('Callers and callees', 'the function between its callers and callees (F)', () => showFunction(f)),
      button('Focus', 'a flame graph of its calls only', () => changePaths((steps) => [...steps, ['focus', f]])),
      button('Merge', 'remove it from the flame graph: its callers get its time', () => changePaths((steps) => [...steps, ['merge', f]])));
  }

  let showing = null;
  /** Builds the model for what is asked for and shows it, if its block is there yet. */
  async function show(keep) {
    kindButtons.forEach((button, i) => button.setAttribute('aria-pressed', String(kinds[i] === kind)));
    const isOfPaths = kind === 'graph' || kind === 'sandwich';
    thread.hidden = !isOfPaths;
    recursion.hidden = !isOfPaths;
    reverse.hidden = kind !== 'graph';
    side.hidden = kind !== 'diff';
    upwards.hidden = kind !== 'graph' && kind !== 'diff';
    path.hidden = kind !== 'chart' || page.path.length === 0;
    changes.replaceChildren(...(isOfPaths ? steps : []).map(([what, f], n) => make('button', {
      type: 'button', title: 'undo this step', click: () => changePaths((steps) => steps.filter((_, k) => k !== n)),
    }, `${STEPS[what]} ${page.functions[f].name} ×`)));
    const token = (showing = {});
    const work = modelOf();
    const model = work && await inSlices(work);
    if (!model || token !== showing) return;
    view.show(model, keep === true);
    drawLegend();
    restore();
    result.textContent = view.search(field.value);
    remember();
    await fillPanel();
  }

  function* modelOf() {
    if (kind === 'chart') return blocks.chart || null;
    if (kind === 'diff') return blocks.diff ? yield* diffModel(page, blocks.diff, { side: side.value, upwards: isOn(upwards) }) : null;
    if (!blocks.graph) return null;
    const options = {
      thread: Number(thread.value), reverse: isOn(reverse), upwards: isOn(upwards), recursion: isOn(recursion), steps, func,
    };
    if (kind === 'graph') return yield* graphModel(page, blocks.graph, options);
    if (func === 0) options.func = func = dearest(yield* pathsOf(blocks.graph, options.thread));
    return yield* sandwichModel(page, blocks.graph, options);
  }

  /** The function with most net time. */
  function dearest(paths) {
    const net = new Float64Array(page.functions.length);
    for (let i = 0; i < paths.n; i++) if (page.functions[paths.func[i]].kind !== 'idle') net[paths.func[i]] += paths.net[i];
    return net.indexOf(Math.max(...net));
  }

  /** Goes where the address says, once the picture that it means is whole. */
  function restore() {
    const isWhole = kind !== 'chart' || blocks.isWhole;
    if (restored) return;
    const { model } = view;
    const [x0, x1] = [Number(state.from), Number(state.to)];
    if (state.from !== undefined && x1 > x0) {
      view.x0 = Math.max(x0, model.x0);
      view.x1 = Math.min(x1, model.x1);
    } else if (kind === 'chart' && view.showPath && page.path.length > 0) {
      view.goToPath();
    }
    view.scroll = Number(state.y) || view.scroll;
    view.clampScroll();
    if (!isWhole) return;
    const selected = Number(state.sel);
    if (state.sel !== undefined && selected < model.rows.n) view.selected = selected;
    view.describe();
    view.redraw();
    restored = true;
    rangeChanged();
    if (view.range) panel.open('range');
  }

  let remembering = 0;
  function remember() {
    if (!restored) return;
    clearTimeout(remembering);
    remembering = setTimeout(write, 120);
  }

  /** Going back in the browser reverses what follows. */
  function step() {
    if (!restored) return;
    clearTimeout(remembering);
    write();
    history.pushState(null, '', location.hash || '#');
  }

  function write() {
    const { model } = view;
    const parts = new URLSearchParams({ kind });
    const put = (name, value, isUsual) => !isUsual && parts.append(name, value);
    const bit = (button) => (isOn(button) ? '1' : '0');
    const isOfPaths = kind === 'graph' || kind === 'sandwich';
    if (view.x0 !== model.x0 || view.x1 !== model.x1) {
      put('from', view.x0);
      put('to', view.x1);
    }
    put('y', Math.round(view.scroll), view.scroll <= 0);
    put('q', field.value, !field.value);
    put('sel', view.selected, view.selected < 0);
    put('range', view.range && view.range.join('-'), !view.range);
    put('thread', thread.value, !isOfPaths || thread.value === '-1');
    put('func', page.functions[func].name, kind !== 'sandwich');
    put('fold', '1', !isOfPaths || !isOn(recursion));
    put('rev', bit(reverse), kind !== 'graph' || !(isOn(reverse) || page.begin.rev));
    put('up', bit(upwards), kind === 'chart' || !(isOn(upwards) || page.begin.up));
    put('side', side.value, kind !== 'diff' || side.value === 'both');
    if (kind === 'chart') for (const [name, text] of Object.entries(view.lanes.state())) put(name, text);
    put('path', bit(path), kind !== 'chart' || !(view.showPath || page.begin.path));
    if (isOfPaths) for (const [what, f] of steps) parts.append('do', `${what}:${page.functions[f].name}`);
    history.replaceState(null, '', `#${parts}`);
  }

  // The panel beside the picture.

  let summing = null;
  async function rangeChanged() {
    remember();
    const { model, range } = view;
    if (!kinds.includes('chart')) return;
    const token = (summing = {});
    if (!range || kind !== 'chart' || !blocks.isWhole) {
      panel.set('range', [make('p', { class: 'hint' }, 'No range is selected. Drag along the scale of the chart, or with Shift.')]);
      return;
    }
    const sums = await inSlices(sumsWithin(page, model, ...range));
    if (token !== summing) return;
    panel.set('range', sumsOf(sums, range, page, searchFor));
  }

  let inTree = null;
  async function fillPanel() {
    if (panel.isOpen('tree') && blocks.graph && kind !== 'diff') {
      const ofPicture = view.model && view.model.paths && view.model.kind !== 'chart';
      const paths = ofPicture ? view.model.paths : await inSlices(pathsOf(blocks.graph, -1));
      if (paths === inTree) return;
      inTree = paths;
      let total = 0;
      for (let i = 0; i < paths.n; i++) total += paths.net[i];
      panel.set('tree', [callTree(paths, total, page, (path) => pickPath(paths, path))]);
    }
  }

  /** Shows a path of the tree in the picture. */
  function pickPath(paths, path) {
    if (kind === 'chart') return searchFor(page.functions[paths.func[path]].name);
    const { rows } = view.model;
    const low = kind === 'sandwich' ? rows.first[view.model.middle] : 0;
    const i = rows.path.indexOf(path, low);
    if (i < 0) return;
    view.select(i, true);
    view.zoomTo(i);
  }

  function searchFor(name) {
    field.value = `^${name.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&')}$`;
    search();
  }

  function drawLegend() {
    const theme = view.theme;
    const swatch = (paint, text) => [make('i', { style: `background:${theme.fills[paint]}` }), `${text} `];
    const solid = (color, text) => [make('i', { style: `background:${color}` }), `${text} `];
    const line = (color, text, style) => [make('i', { style: `${style}:2px dashed ${color};background:none` }), `${text} `];
    const parts = [];
    if (kind === 'diff') {
      parts.push(...page.changes.flatMap(([paint, text]) => swatch(paint, text)));
    } else {
      parts.push(...page.legend.flatMap(([paint, text]) => swatch(paint, text)));
    }
    const hatched = (color, text) => [make('i', { style: `background:repeating-linear-gradient(135deg,${color} 0 2px,transparent 2px 5px)` }), `${text} `];
    if (kind === 'diff') parts.push(...hatched(theme.hatch, 'tested, not significant'));
    parts.push(...swatch(page.mergedPaint, kind === 'chart' ? 'calls too short to draw apart' : 'paths too narrow to draw apart'));
    if (kind === 'chart') {
      if (page.lanes.some((lane) => lane.states > 0)) {
        parts.push(solid(theme.running, page.looks[0]));
        const colors = [theme.runnable, theme.sleeping, theme.gap];
        for (const [n, color] of colors.entries()) parts.push(...hatched(color, page.looks[n + 1]));
        parts.push(solid(theme.interrupted, 'interrupted'));
        parts.push(...line(theme.muted, page.looks[4], 'border-top'));
      }
      if (page.lanes.some((lane) => lane.away > 0)) parts.push(...hatched(theme.off_cpu, 'switched out'));
      if (page.hasPartial) parts.push(...hatched(theme.hatch, 'entry or exit not recorded'));
      if (page.lanes.some((lane) => lane.gaps.length > 0)) parts.push(...line(theme.gap, 'events lost', 'border-left'));
    }
    legend.replaceChildren(...parts.flat());
    if (kind === 'chart' && page.cut) legend.append(make('span', { class: 'cut' }, page.cut));
  }

  adopt();
  show();
  return {
    /** A block of the data: `chart` is a model, and the last one if it `isWhole`. */
    async take(name, block, isWhole) {
      blocks[name] = block;
      if (isWhole) blocks.isWhole = true;
      // Beside a picture there is space for the tree, if there is nothing else to show.
      if (name === 'graph' && view.selected < 0 && panel.element.clientHeight > 400) panel.open('tree');
      if (name === kind || (name === 'graph' && kind === 'sandwich')) await show(view.model !== null);
    },
    search: searchFor,
    /** Every box: what it is called, its row, its width and the box it hangs on. */
    boxes() {
      const { model } = view;
      const { rows, label } = model;
      return Array.from({ length: rows.n }, (_, i) => ({ label: label(i), row: rows.row[i], width: rows.end[i] - rows.start[i], above: rows.parent[i] }));
    },
  };
}

/** Tabs beside the picture: the selection, and `others` by key with their names. */
function startPanel(details, others, opened) {
  const pages = { selection: details };
  for (const key of Object.keys(others)) pages[key] = make('div', { class: 'sheet', hidden: true });
  const names = { selection: 'Selection', ...others };
  let now = 'selection';
  const tabs = Object.keys(pages).map((key) => make('button', {
    type: 'button', role: 'tab', id: `tab-${key}`, 'aria-selected': String(key === now), click: () => open(key),
  }, names[key]));
  for (const [key, sheet] of Object.entries(pages)) {
    sheet.setAttribute('data-tab', key);
    if (key !== 'selection') sheet.setAttribute('role', 'tabpanel');
    if (key !== 'selection') sheet.setAttribute('aria-labelledby', `tab-${key}`);
  }
  const element = make('aside', { class: 'panel', 'aria-label': 'details' },
    make('div', { class: 'tabs', role: 'tablist' }, tabs), make('div', { class: 'sheets' }, Object.values(pages)));

  function open(key) {
    now = key;
    tabs.forEach((tab, i) => tab.setAttribute('aria-selected', String(Object.keys(pages)[i] === key)));
    for (const [one, sheet] of Object.entries(pages)) sheet.hidden = one !== key;
    opened(key);
  }

  return {
    element,
    open,
    isOpen: (key) => now === key,
    set: (key, nodes) => pages[key].replaceChildren(...nodes),
  };
}

/** A button that is on or off. */
function toggle(text, title, changed) {
  const button = make('button', { type: 'button', title, 'aria-pressed': 'false' }, text);
  button.addEventListener('click', () => {
    setOn(button, !isOn(button));
    changed();
  });
  return button;
}

function isOn(button) {
  return button.getAttribute('aria-pressed') === 'true';
}

function setOn(button, on) {
  button.setAttribute('aria-pressed', String(on));
}

/** What the address says, over how the page begins. */
function readFragment(page) {
  const parts = new URLSearchParams(location.hash.slice(1));
  return { ...page.begin, ...Object.fromEntries(parts), do: parts.getAll('do') };
}
