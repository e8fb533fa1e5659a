// The table's page: functions, what they allocated themselves and in total.

const markLibrary = 1, markGuess = 2, markSymtab = 4;
const step = 500; // rows that are added at once
const last = data.small > 0 ? data.rows.pop() : null;
for (const row of data.rows) {
  row.name = data.strings[row.f];
  row.path = data.strings[row.p];
  row.module = data.strings[row.m];
}
// A column is own or total of a measure, or a text.
const columns = [];
for (const m of measures.keys()) {
  for (const [side, title] of [['o', 'own'], ['t', 'total']]) {
    columns.push({ id: side + m, title, measure: measures[m], first: side === 'o', of: row => row[side][m], total: data.totals[m] });
  }
}
columns.push({ id: 'name', title: 'Function', first: true, text: true, of: row => row.name });
columns.push({ id: 'place', title: 'File:line', text: true, of: row => row.path ? row.path + ':' + String(row.l).padStart(9, '0') : '' });
columns.push({ id: 'module', title: 'Module', text: true, of: row => row.module });

let sort = columns.find(c => c.id === 'o' + data.measure), down = true, limit = step;

function showHead() {
  const groups = element('tr', {}, ...measures.map(m => element('th', { class: 'group first', colspan: 2, title: m.hint }, m.title)), element('th', { class: 'group first', colspan: 3 }));
  const heads = element('tr', {}, ...columns.map(c => element('th', {
    class: (c.text ? '' : 'n') + (c.first ? ' first' : ''), 'aria-sort': sort === c ? (down ? 'descending' : 'ascending') : 'none', 'data-column': c.id,
  }, element('button', { type: 'button', onclick: () => choose(c) }, c.title + (sort === c ? (down ? ' ▾' : ' ▴') : '')))));
  document.querySelector('thead').replaceChildren(groups, heads);
}

function choose(column) {
  down = sort === column ? !down : !column.text;
  sort = column;
  showHead();
  showRows();
  document.querySelector('[data-column="' + column.id + '"] button').focus();
}

function placeText(row) {
  return row.path ? baseName(row.path) + (row.l ? ':' + row.l : '') : '';
}

function rowElement(row) {
  const classes = [];
  const notes = [row.name];
  if (row.k & markLibrary) { classes.push('library'); notes.push('library'); }
  if (row.k & markSymtab) { classes.push('symtab'); notes.push('known from the symbol table or not at all'); }
  if (row.k & markGuess) notes.push('guessed by the unwinder');
  return element('tr', { class: classes.join(' ') }, ...columns.map(c => {
    const v = c.of(row);
    if (c.id === 'name') return element('td', { class: 'name first', title: notes.join('\n') }, v);
    if (c.id === 'place') return element('td', { class: 'place', title: row.path }, placeText(row));
    if (c.id === 'module') return element('td', { class: 'place', title: v }, baseName(v));
    const cell = element('td', { class: 'n' + (c.first ? ' first' : '') + (v === 0 ? ' zero' : '') + (c === sort ? ' sorted' : ''), title: longAmount(v, c.measure) + ', ' + percent(v, c.total) }, amount(v, c.measure));
    if (c === sort && c.total > 0) cell.style.setProperty('--share', 100 * v / c.total + '%');
    return cell;
  }));
}

function showRows() {
  const match = matcher(byId('search').value), hide = byId('hide').checked;
  let rows = data.rows.filter(r => !(hide && r.k & markLibrary) && (!match || match(r.name) || match(r.path) || match(r.module)));
  const sign = down ? -1 : 1;
  const keyed = rows.map(r => [sort.of(r), r]);
  keyed.sort((a, b) => a[0] < b[0] ? -sign : a[0] > b[0] ? sign : b[1].t[0] - a[1].t[0]);
  rows = keyed.map(k => k[1]);
  const shown = rows.slice(0, limit).map(rowElement);
  document.querySelector('tbody').replaceChildren(...shown);
  const all = element('tr', {}, ...columns.map(c => c.id === 'name' ? element('td', { class: 'first' }, 'all ' + counted(data.rows.length + data.small, 'function')) :
    c.text ? element('td', {}) : element('td', { class: 'n' + (c.first ? ' first' : ''), title: longAmount(c.total, c.measure) }, amount(c.total, c.measure))));
  const foot = [all];
  if (last) {
    foot.unshift(element('tr', {}, ...columns.map(c => c.id === 'name' ? element('td', { class: 'first' }, counted(data.small, 'small one') + ', not listed') :
      c.text ? element('td', {}) : element('td', { class: 'n' + (c.first ? ' first' : '') }, (c.first ? '' : '≥ ') + amount(c.of(last), c.measure)))));
  }
  document.querySelector('tfoot').replaceChildren(...foot);
  byId('shown').textContent = rows.length === data.rows.length ? counted(rows.length, 'function') : grouped(rows.length) + ' of ' + counted(data.rows.length, 'function');
  byId('more').hidden = rows.length <= limit;
  byId('more').textContent = 'show ' + grouped(Math.min(step, rows.length - limit)) + ' more of ' + grouped(rows.length - limit);
}

byId('search').addEventListener('input', () => { limit = step; showRows(); });
byId('hide').checked = false;
byId('hide').addEventListener('change', showRows);
byId('more').addEventListener('click', () => { limit += step; showRows(); });
addEventListener('keydown', e => {
  if (e.key === '/' && e.target !== byId('search')) {
    byId('search').focus();
    e.preventDefault();
  }
});
showFacts();
themeButton(() => {});
showHead();
showRows();
