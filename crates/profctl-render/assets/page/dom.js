// Elements, and properties of the environment.

/** An element with attributes (functions are listeners) and children. */
function make(tag, attributes, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (typeof value === 'function') element.addEventListener(name, value);
    else if (value === true) element.setAttribute(name, '');
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(name, value);
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined));
  return element;
}

/** The colors now in force: those of a page on paper are the light ones. */
let printing = false;

function isDark() {
  if (printing) return false;
  const chosen = document.documentElement.dataset.theme;
  return chosen ? chosen === 'dark' : matchMedia('(prefers-color-scheme: dark)').matches;
}

function chooseTheme(theme) {
  document.documentElement.dataset.theme = theme;
  try {
    localStorage.setItem('profctl-theme', theme);
  } catch {
    // A page from a file may have no storage; it then forgets.
  }
}

function recallTheme() {
  try {
    const theme = localStorage.getItem('profctl-theme');
    if (theme) document.documentElement.dataset.theme = theme;
  } catch {
    // As above.
  }
}

/** What a description says, as a list of terms for the tip and the details. */
function describedAs(description, page) {
  const { title, what, facts, remarks, func } = description;
  const known = func > 0 ? page.functions[func] : null;
  const kind = known && known.kind !== 'function' ? [known.kind] : [];
  const module = known && known.module ? [known.module] : [];
  const list = make('dl', {}, facts.map(([term, text]) => [make('dt', {}, term), make('dd', {}, text)]));
  const parts = [
    make('p', { class: 'what' }, make('strong', {}, title), ` ${[what, ...module, ...kind].join(' · ')}`),
    list,
  ];
  for (const remark of remarks) parts.push(make('p', { class: 'remark' }, remark));
  if (known && known.figures) parts.push(figuresOf(known, page));
  return parts;
}

const FIGURES = [['', 'sum'], ['_min', 'min'], ['_avg', 'avg'], ['_max', 'max'], ['_p50', 'p50'], ['_p90', 'p90'], ['_p99', 'p99']];

/** The statistics of a function: one row per measure. */
function figuresOf({ name, figures }, page) {
  const of = (column) => figures[page.figures.indexOf(column)] ?? '';
  const row = (measure) => make('tr', {}, make('th', { scope: 'row' }, measure),
    FIGURES.map(([end]) => make('td', {}, of(measure + end))));
  const calls = `${of('calls')} ${of('calls') === '1' ? 'call' : 'calls'}`;
  return make('table', { class: 'figures' },
    make('caption', {}, `${name} in all: ${calls}, times in ${page.clock.label}`),
    make('thead', {}, make('tr', {}, make('td', {}), FIGURES.map(([, heading]) => make('th', { scope: 'col' }, heading)))),
    make('tbody', {}, row('elapsed'), row('net')));
}
