// Tables that can be sorted by any column and filtered by name.

function startTables() {
  for (const table of document.querySelectorAll('table.sortable')) {
    const body = table.tBodies[0];
    const rows = Array.from(body.rows);
    const headings = Array.from(table.tHead.rows[0].cells);
    headings.forEach((heading, column) => {
      const button = heading.querySelector('button');
      button.addEventListener('click', () => {
        const isNumber = heading.classList.contains('number');
        const was = heading.getAttribute('aria-sort');
        // Numbers begin with the largest, names with the first.
        const first = isNumber ? 'descending' : 'ascending';
        const next = was === 'none' ? first : was === 'ascending' ? 'descending' : 'ascending';
        headings.forEach((other) => other.setAttribute('aria-sort', other === heading ? next : 'none'));
        body.append(...sorted(rows, column, isNumber, next === 'descending'));
      });
    });
    const filter = document.querySelector(`input[data-filters="${table.id}"]`);
    if (filter) startFilter(filter, table, rows);
  }
}

/** `rows` by a column; what is not known stays last, equals keep the order of the report. */
function sorted(rows, column, isNumber, isDown) {
  const keys = rows.map((row, index) => {
    const text = row.cells[column].textContent;
    const value = isNumber ? Number.parseFloat(text.replace(/[()]/g, '')) : text;
    return { row, index, value, isKnown: !isNumber || !Number.isNaN(value) };
  });
  keys.sort((a, b) => {
    if (a.isKnown !== b.isKnown) return a.isKnown ? -1 : 1;
    const order = a.value < b.value ? -1 : a.value > b.value ? 1 : 0;
    return (isDown ? -order : order) || a.index - b.index;
  });
  return keys.map(({ row }) => row);
}

function startFilter(filter, table, rows) {
  const said = document.querySelector(`output[data-of="${table.id}"]`);
  const apply = () => {
    let expression = null;
    filter.removeAttribute('aria-invalid');
    try {
      expression = new RegExp(filter.value, 'iu');
    } catch {
      filter.setAttribute('aria-invalid', 'true');
      return;
    }
    let n = 0;
    for (const row of rows) {
      const hit = expression.test(row.cells[row.cells.length - 1].textContent);
      row.hidden = !hit;
      n += hit ? 1 : 0;
    }
    said.textContent = n === rows.length ? count(n, 'row', 'rows') : `${n} of ${count(rows.length, 'row', 'rows')}`;
  };
  filter.addEventListener('input', apply);
  apply();
}
