// Elements, and what the page knows of its surroundings.

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

/** The colours now in force: those of a page on paper are the light ones. */
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
  const figures = known && known.figures;
  if (figures) {
    const cells = page.figures.map((heading, i) => [heading, figures[i]]).filter(([, text]) => text !== null);
    parts.push(make('table', { class: 'figures' },
      make('caption', {}, `all calls of ${known.name}`),
      make('thead', {}, make('tr', {}, cells.map(([heading]) => make('th', { scope: 'col' }, heading)))),
      make('tbody', {}, make('tr', {}, cells.map(([, text]) => make('td', {}, text))))));
  }
  return parts;
}
