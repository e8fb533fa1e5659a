// The flame graph's page: what is chosen, and what is shown of it.

const stage = byId('stage'), tip = byId('tip'), search = byId('search');
const drawing = newDrawing(stage, stage.querySelector('canvas'), byId('spacer'));
const choice = { measure: data.measure, inverted: false, fold: true, hide: false, lines: false, thread: -1, shrunk: false, from: -1, to: -1 };
const folds = data.frames.some(([, , marks]) => marks & markFolded);
const hasTime = (data.snapshots || []).length > 0;
let zoomPath = []; // keys from the root: it outlives a view

const chart = newChart(byId('time'), () => {
  choice.measure = -1;
  rebuild();
});
const measureNow = () => choice.measure < 0 ? growth : measures[choice.measure];

// rebuild makes a new view of what is chosen, and zooms to the same functions in it.
function rebuild() {
  [choice.from, choice.to] = chart.chosen;
  chart.active = choice.measure < 0;
  const view = buildView(choice), selected = drawing.selected && pathOf(drawing.selected);
  drawing.view = view;
  drawing.measure = measureNow();
  drawing.zoom = find(view.root, zoomPath, false);
  drawing.selected = selected && find(view.root, selected, true);
  drawing.hovered = null;
  mark();
  showMeasures();
  chart.paint();
  redraw();
}

function redraw() {
  drawing.layout();
  drawing.paint();
  const root = drawing.view.root, zoom = drawing.zoom;
  byId('reset').disabled = zoom === root;
  byId('empty').hidden = root.value > 0;
  byId('empty').textContent = data.stacks === 0 ? 'No allocation was recorded.' : 'Nothing to draw: ' + measureNow().title.toLowerCase() + ' is 0 ' + (choice.thread >= 0 ? 'in this thread' : 'here') + '.';
  showDetail();
  showNote();
}

const pathOf = view => {
  const path = [];
  for (let v = view; v.parent; v = v.parent) path.unshift(v.key);
  return path;
};

// find is the node at the end of a path, or the last one that there is on it.
function find(root, path, whole) {
  let v = root;
  for (const key of path) {
    const next = v.children.find(c => c.key === key);
    if (!next) return whole ? null : v;
    v = next;
  }
  return v;
}

function zoomTo(view) {
  drawing.zoom = view;
  zoomPath = pathOf(view);
  hideTip();
  redraw();
  drawing.reveal(view);
  drawing.paint();
  showMatched();
}

// mark finds what is searched for.
function mark() {
  const match = matcher(search.value);
  drawing.searching = match !== null;
  for (const v of drawing.view.all) {
    v.matched = match !== null && v.frame >= 0 && (match(nameOf(v)) || match(fileOf(v)));
  }
  showMatched();
}

// showMatched says which share of what is zoomed to is below a match. A match
// below another one does not count twice.
function showMatched() {
  let value = 0, count = 0;
  const todo = [[drawing.zoom, false]];
  while (todo.length > 0) {
    const [v, below] = todo.pop();
    if (v.matched) count++;
    if (v.matched && !below) value += v.value;
    for (const c of v.children) todo.push([c, below || v.matched]);
  }
  const text = drawing.searching ? percent(value, drawing.zoom.value) + ' matched: ' + amount(value, drawing.measure) + ' in ' + counted(count, 'box').replace('boxs', 'boxes') : '';
  byId('matched').textContent = text;
}

// nextMatch selects the match after, or before, the selected one.
function nextMatch(back) {
  const matches = drawing.view.all.filter(v => v.matched && isBelow(v, drawing.zoom));
  if (matches.length === 0) return;
  matches.sort((a, b) => b.value - a.value);
  const at = matches.indexOf(drawing.selected);
  select(matches[(at + (back ? -1 : 1) + (at < 0 && back ? 1 : 0) + matches.length) % matches.length]);
}

const isBelow = (v, zoom) => {
  for (; v; v = v.parent) if (v === zoom) return true;
  return false;
};

function select(view) {
  drawing.selected = view;
  drawing.reveal(view);
  drawing.paint();
  showDetail();
}

function showMeasures() {
  const box = byId('measures');
  const focused = box.contains(document.activeElement);
  box.replaceChildren(...measures.concat(hasTime ? [growth] : []).map((m, i) => {
    const index = m === growth ? -1 : i, on = choice.measure === index;
    const net = m === growth ? netGrowth() : data.totals[i];
    const number = element('b', {}, (m === growth && net > 0 ? '+' : '') + amount(net, m));
    const title = m.hint + '\n' + longAmount(net, m);
    return element('button', { type: 'button', role: 'radio', 'aria-checked': on, title, 'data-measure': m.word, tabindex: on ? 0 : -1, onclick: () => setMeasure(index) }, m.title, number);
  }));
  if (focused) box.querySelector('[aria-checked=true]').focus();
}

const netGrowth = () => {
  const live = i => i < 0 ? 0 : data.snapshots[i].live;
  return live(chart.chosen[1]) - live(chart.chosen[0]);
};

function setMeasure(index) {
  if (index < 0 && !hasTime) return;
  choice.measure = index;
  rebuild();
}

// detailOf is all that is known of a node, as [label, text] with "" for none.
function detailOf(v, box) {
  const m = drawing.measure, root = drawing.view.root;
  if (box && box.small) {
    const lines = [smallText(box.small, box.value, m), 'below ' + nameOf(v) + ': ' + percent(box.value, root.value) + ' of all'];
    lines.push(v.small ? counted(v.small, 'branch').replace('branchs', 'branches') + ' of them are not on this page' : 'zoom in to see them');
    return lines;
  }
  const lines = [nameOf(v), placeOf(v, true), moduleOf(v)];
  let share = longAmount(v.value, m) + ', ' + percent(v.value, root.value) + ' of all';
  if (drawing.zoom !== root && drawing.zoom !== v) share += ', ' + percent(v.value, drawing.zoom.value) + ' of ' + nameOf(drawing.zoom);
  lines.push(share);
  if (v.self > 0 && v.self !== v.value) lines.push(longAmount(v.self, m) + ' of it with the stack that ends here');
  lines.push(howKnown(v).join(', '));
  return lines.filter(Boolean);
}

function showDetail() {
  const v = drawing.selected || drawing.zoom;
  const [name, ...rest] = detailOf(v);
  byId('detail').replaceChildren(element('b', {}, name), element('span', {}, rest.join(' · ')));
}

// showNote says what the page leaves out.
function showNote() {
  const parts = [];
  if (choice.measure < 0) {
    const { grew, shrank } = drawing.view;
    parts.push('grew ' + bytes(grew) + ', shrank ' + bytes(shrank) + (choice.shrunk ? '; drawn: what shrank' : '; drawn: what grew'));
  }
  const tree = data.trees[choice.inverted ? 1 : 0];
  const small = tree.small.reduce((n, s) => n + s, 0);
  if (small > 0) parts.push('the page has the ' + grouped(tree.depth.length) + ' largest boxes; ' + counted(small, 'branch').replace('branchs', 'branches') + ' below them are summed up as small ones' + (choice.measure < 0 ? ', each with its net growth' : ''));
  if (choice.fold && folds) parts.push('frames at the ends of stacks that are not the program’s are folded (f)');
  if (drawing.merged > 0) parts.push('boxes under ' + thin + ' pixels are drawn together as “small ones”');
  byId('note').textContent = parts.join(' · ');
  const range = byId('range');
  range.textContent = hasTime && choice.measure < 0 ? chart.describe(chart.chosen[0]) + '  →  ' + chart.describe(chart.chosen[1]) : hasTime ? 'drag the handles to see what grew between two moments' : '';
  byId('shrunk-label').hidden = choice.measure >= 0;
}

function showTip(box, x, y) {
  const lines = detailOf(box.view, box);
  tip.replaceChildren(...lines.map((line, i) => element(i === 0 ? 'b' : 'div', {}, line)));
  tip.hidden = false;
  const w = tip.offsetWidth, h = tip.offsetHeight;
  tip.style.left = Math.max(4, Math.min(x + 14, innerWidth - w - 8)) + 'px';
  tip.style.top = (y + 20 + h > innerHeight ? Math.max(4, y - h - 10) : y + 18) + 'px';
}

function hideTip() {
  tip.hidden = true;
  if (drawing.hovered) {
    drawing.hovered = null;
    drawing.paint();
  }
}

const boxUnder = e => {
  const r = stage.getBoundingClientRect();
  return drawing.boxAt(e.clientX - r.left, e.clientY - r.top);
};

stage.addEventListener('pointermove', e => {
  const box = boxUnder(e);
  stage.style.cursor = box ? 'pointer' : '';
  if (!box) return hideTip();
  if (drawing.hovered !== box.view) {
    drawing.hovered = box.view;
    drawing.paint();
  }
  showTip(box, e.clientX, e.clientY);
});
stage.addEventListener('pointerleave', hideTip);
stage.addEventListener('scroll', () => { hideTip(); drawing.paint(); });
stage.addEventListener('click', e => {
  const box = boxUnder(e);
  if (!box) return;
  drawing.selected = box.view;
  zoomTo(box.view);
});

// arrow moves the selection; false if the key is another one.
function arrow(key) {
  const v = drawing.selected || drawing.zoom;
  const siblings = v.parent ? v.parent.children : [v], at = siblings.indexOf(v);
  const next = { ArrowUp: v.parent, ArrowDown: v.children[0], ArrowLeft: siblings[at - 1], ArrowRight: siblings[at + 1] };
  if (!(key in next)) return false;
  if (next[key]) {
    if (!isBelow(next[key], drawing.zoom)) zoomTo(next[key] === drawing.zoom.parent ? next[key] : next[key].parent);
    select(next[key]);
  }
  return true;
}

const toggle = id => byId(id).click();
const keys = {
  Enter: () => zoomTo(drawing.selected || drawing.zoom),
  Escape: () => zoomTo(drawing.view.root),
  Backspace: () => zoomTo(drawing.zoom.parent || drawing.zoom),
  '/': () => search.focus(),
  '?': () => byId('help').showModal(),
  i: () => toggle('inverted'), f: () => toggle('fold'), h: () => toggle('hide'), l: () => toggle('lines'), d: () => toggle('theme'),
  n: () => nextMatch(false), N: () => nextMatch(true), 7: () => setMeasure(-1),
};
measures.forEach((_, i) => { keys[i + 1] = () => setMeasure(i); });

addEventListener('keydown', e => {
  if (e.ctrlKey || e.metaKey || e.altKey || byId('help').open) return;
  const at = e.target;
  if (at === search) {
    if (e.key === 'Enter') nextMatch(e.shiftKey);
    else if (e.key === 'Escape') { search.value = ''; mark(); drawing.paint(); stage.focus(); }
    else return;
    e.preventDefault();
    return;
  }
  if (at.tagName === 'SELECT' || at.tagName === 'BUTTON' && (e.key === 'Enter' || e.key === ' ')) return;
  if (at.getAttribute('role') === 'radio' && /^Arrow/.test(e.key)) {
    const radios = [...byId('measures').children], step = e.key === 'ArrowRight' || e.key === 'ArrowDown' ? 1 : -1;
    radios[(radios.indexOf(at) + step + radios.length) % radios.length].click();
  } else if (arrow(e.key)) {
    hideTip();
  } else if (Object.hasOwn(keys, e.key)) {
    keys[e.key]();
  } else {
    return;
  }
  e.preventDefault();
});

search.addEventListener('input', () => { mark(); drawing.paint(); });
for (const id of ['inverted', 'fold', 'hide', 'lines', 'shrunk']) {
  byId(id).checked = choice[id];
  byId(id).addEventListener('change', () => {
    choice[id] = byId(id).checked;
    if (id === 'inverted' || id === 'lines') zoomPath = [];
    rebuild();
  });
}
byId('reset').addEventListener('click', () => zoomTo(drawing.view.root));
byId('helper').addEventListener('click', () => byId('help').showModal());
if (data.threads) {
  const thread = byId('thread');
  thread.append(element('option', { value: -1 }, 'all threads'), ...data.threads.map((name, i) => element('option', { value: i }, name || 'no thread named')));
  thread.hidden = false;
  thread.addEventListener('change', () => {
    choice.thread = Number(thread.value);
    rebuild();
  });
}
byId('time').hidden = !hasTime;
document.querySelector('.under').hidden = !hasTime;
showFacts();
themeButton(() => { chart.paint(); drawing.paint(); });
new ResizeObserver(() => { chart.paint(); redraw(); }).observe(stage);
rebuild();
