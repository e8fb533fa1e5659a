// The trees of the data, and views of them: of one measure, with or without frames
// that are hidden.

// Marks of frames, as flame.go has them.
const markGuess = 1, markInlined = 2, markSymtab = 4, markUnnamed = 8, markNoFrame = 16, markFolded = 32;

const strings = data.strings;
const functionOf = frame => data.functions[data.frames[frame][0]];

for (const tree of data.trees) {
  const at = []; // the last node at each depth
  tree.parent = tree.depth.map((depth, node) => {
    at[depth] = node;
    return depth === 0 ? -1 : at[depth - 1];
  });
}

// liveAt is what a row holds at a snapshot; before the first one nothing was live.
function liveAt(tree, row, snapshot) {
  const end = row + 1 < tree.starts.length ? tree.starts[row + 1] : (tree.grown || []).length;
  let live = 0;
  for (let i = tree.starts[row]; i < end && tree.grown[i][0] <= snapshot; i++) live = tree.grown[i][1];
  return live;
}

// rowValues are the numbers of the rows of a tree. choice: measure, an index of
// measures or -1 for growth between from and to; shrunk, to see what became less;
// thread, -1 for all.
function rowValues(tree, choice) {
  const rows = tree.node.length, values = new Float64Array(rows);
  let net = 0, grew = 0, shrank = 0;
  for (let row = 0; row < rows; row++) {
    if (choice.thread >= 0 && tree.thread[row] !== choice.thread) continue;
    if (choice.measure >= 0) {
      values[row] = tree.values[choice.measure][row];
      continue;
    }
    const d = liveAt(tree, row, choice.to) - liveAt(tree, row, choice.from);
    net += d;
    grew += Math.max(0, d);
    shrank += Math.max(0, -d);
    values[row] = Math.max(0, choice.shrunk ? -d : d);
  }
  return { values, net, grew, shrank };
}

// A view node: what of a tree's nodes is drawn as one.
function viewNode(parent, frame) {
  return {
    parent, depth: parent ? parent.depth + 1 : 0, frame, key: '', lines: [], marks: 0,
    value: 0, self: 0, small: 0, smallValue: 0, children: [], index: new Map(), matched: false,
  };
}

// buildView makes the view of a tree: choice as for rowValues, and fold, hide, lines.
function buildView(choice) {
  const tree = data.trees[choice.inverted ? 1 : 0];
  const sums = rowValues(tree, choice);
  const root = viewNode(null, -1), of = new Array(tree.depth.length), all = [root];
  for (let node = 0; node < tree.depth.length; node++) {
    const parent = tree.parent[node] < 0 ? root : of[tree.parent[node]];
    const frame = tree.frame[node], [fn, line, marks] = data.frames[frame];
    if (choice.fold && marks & markFolded || choice.hide && data.functions[fn][3]) {
      of[node] = parent;
      continue;
    }
    const key = choice.lines ? 'l' + fn + ':' + line : 'f' + fn;
    let view = parent.index.get(key);
    if (!view) {
      view = viewNode(parent, frame);
      view.key = key;
      parent.index.set(key, view);
      parent.children.push(view);
      all.push(view);
    }
    view.marks |= marks;
    if (line && !view.lines.includes(line)) view.lines.push(line);
    of[node] = view;
  }
  for (let row = 0; row < tree.node.length; row++) {
    const value = sums.values[row];
    if (value === 0) continue;
    const view = tree.node[row] < 0 ? root : of[tree.node[row]];
    view.value += value;
    if (tree.small[row]) {
      view.small += tree.small[row];
      view.smallValue += value;
    } else {
      view.self += value;
    }
  }
  for (let i = all.length - 1; i > 0; i--) all[i].parent.value += all[i].value;
  for (const view of all) {
    view.children = view.children.filter(c => c.value > 0).sort((a, b) => b.value - a.value || (nameOf(a) < nameOf(b) ? -1 : 1));
    view.lines.sort((a, b) => a - b);
  }
  return { root, ...sums, all: all.filter(v => v.value > 0) };
}

// ownModule is the program, or what has most boxes where it goes by another name.
const ownModule = (() => {
  const boxes = new Map();
  for (const frame of data.trees[0].frame) {
    const module = strings[functionOf(frame)[2]];
    if (module === data.program) return module;
    if (module) boxes.set(module, (boxes.get(module) || 0) + 1);
  }
  return [...boxes].reduce((a, b) => b[1] > a[1] ? b : a, ['', 0])[0];
})();

const nameOf = view => view.frame < 0 ? 'all' : strings[functionOf(view.frame)[0]];
const fileOf = view => view.frame < 0 ? '' : strings[functionOf(view.frame)[1]];
const moduleOf = view => view.frame < 0 ? '' : strings[functionOf(view.frame)[2]];
const isLibrary = view => view.frame >= 0 && functionOf(view.frame)[3] === 1;

// placeOf is file:line, or the lines where several are drawn as one.
function placeOf(view, whole) {
  const file = fileOf(view);
  if (!file) return '';
  const name = whole ? file : baseName(file);
  if (view.lines.length === 0) return name;
  const shown = view.lines.slice(0, 5).join(', ') + (view.lines.length > 5 ? ', … ' + view.lines.length + ' lines' : '');
  return name + ':' + shown;
}

// howKnown says where a name comes from, if that is less than debug info.
function howKnown(view) {
  const how = [];
  if (view.marks & markInlined) how.push('inlined');
  if (view.marks & markSymtab) how.push('name from the symbol table');
  if (view.marks & markUnnamed) how.push('no name known');
  if (view.marks & markGuess) how.push('guessed by the unwinder');
  if (view.marks & markNoFrame) how.push('the stack is not complete');
  if (isLibrary(view)) how.push('library');
  return how;
}

const smallText = (n, value, measure) => '(' + counted(n, 'small one') + ': ' + amount(value, measure) + ')';
