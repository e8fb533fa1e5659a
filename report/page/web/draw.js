// Drawing a view as an icicle: the root at the top, a row for each frame.

const rowHeight = 19;
const thin = 2; // pixels below which frames are drawn together

function hash(text) {
  let h = 2166136261;
  for (let i = 0; i < text.length; i++) h = Math.imul(h ^ text.charCodeAt(i), 16777619);
  return h >>> 0;
}

// colorOf: the program's own code is warm, each other module has a hue between
// green and violet, and what is of a library is pale.
function colorOf(view, dark) {
  if (view.frame < 0 || view.marks & markNoFrame) return dark ? '#3a3b40' : '#dcdad5';
  const module = moduleOf(view), h = hash(nameOf(view));
  const own = module !== '' && module === ownModule;
  const hue = own ? 16 + h % 30 : 165 + hash(module) % 115 + h % 8;
  const pale = isLibrary(view) || !own;
  const saturation = isLibrary(view) ? 14 : pale ? 32 : 78;
  const light = dark ? (pale ? 33 : 38) + (h >> 8) % 6 : (pale ? 79 : 69) + (h >> 8) % 7;
  return 'hsl(' + hue + ' ' + saturation + '% ' + light + '%)';
}

function newDrawing(stage, canvas, spacer) {
  const context = canvas.getContext('2d');
  const fonts = { plain: '12px system-ui, "Segoe UI", "DejaVu Sans", sans-serif', italic: 'italic 12px system-ui, "Segoe UI", "DejaVu Sans", sans-serif' };
  const widths = new Map();
  const d = { view: null, zoom: null, measure: measures[0], selected: null, hovered: null, searching: false, rows: [], count: 0 };

  const widthOf = (text, font) => {
    const key = font + text;
    let w = widths.get(key);
    if (w === undefined) {
      if (widths.size > 20000) widths.clear();
      context.font = fonts[font];
      widths.set(key, w = context.measureText(text).width);
    }
    return w;
  };

  // fitted is as much of a name as the room allows: without arguments rather than
  // without its end.
  const fitted = (text, room, font) => {
    if (text.length * 14 < room || widthOf(text, font) <= room) return text;
    const bare = withoutArguments(text);
    if (bare !== text && widthOf(bare + '(…)', font) <= room) return bare + '(…)';
    let low = 0, high = Math.min(bare.length, Math.ceil(room / 3));
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (widthOf(bare.slice(0, middle) + '…', font) <= room) low = middle; else high = middle - 1;
    }
    return low < 2 ? '' : bare.slice(0, low) + '…';
  };

  // layout finds the boxes of all rows.
  d.layout = () => {
    const width = stage.clientWidth, rows = [], zoom = d.zoom;
    const put = (depth, box) => (rows[depth] = rows[depth] || []).push(box);
    let above = [];
    for (let v = zoom; v; v = v.parent) above.unshift(v);
    for (const v of above) put(v.depth, { view: v, x: 0, w: width, above: v !== zoom });
    const scale = zoom.value > 0 ? width / zoom.value : 0;
    const todo = [[zoom, 0]];
    d.merged = 0;
    while (todo.length > 0) {
      const [v, x] = todo.pop();
      let at = x, small = v.small, smallValue = v.smallValue;
      for (const c of v.children) {
        const w = c.value * scale;
        if (w < thin) {
          small++;
          smallValue += c.value;
          continue;
        }
        put(c.depth, { view: c, x: at, w });
        todo.push([c, at]);
        at += w;
      }
      if (small > 0 && smallValue * scale >= 0.5) {
        put(v.depth + 1, { view: v, x: at, w: smallValue * scale, small, value: smallValue });
      }
      d.merged += small;
    }
    for (const row of rows) row.sort((a, b) => a.x - b.x);
    d.rows = rows;
    d.count = rows.reduce((n, r) => n + r.length, 0);
    spacer.style.height = rows.length * rowHeight + 'px';
    stage.dataset.frames = d.count;
    stage.dataset.rows = rows.length;
  };

  d.paint = () => {
    const width = stage.clientWidth, height = stage.clientHeight, ratio = devicePixelRatio || 1;
    if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
      canvas.width = Math.round(width * ratio);
      canvas.height = Math.round(height * ratio);
      canvas.style.width = width + 'px';
      canvas.style.height = height + 'px';
    }
    const dark = isDark(), style = getComputedStyle(document.documentElement);
    const ink = style.getPropertyValue('--frame-ink'), line = style.getPropertyValue('--page'), hit = style.getPropertyValue('--hit');
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width, height);
    context.textBaseline = 'middle';
    const first = Math.floor(stage.scrollTop / rowHeight), last = Math.ceil((stage.scrollTop + height) / rowHeight);
    for (let depth = first; depth < Math.min(last, d.rows.length); depth++) {
      const y = depth * rowHeight - stage.scrollTop;
      for (const box of d.rows[depth] || []) paintBox(box, y, { dark, ink, line, hit });
    }
  };

  function paintBox(box, y, colors) {
    const v = box.view, w = Math.max(box.w - (box.w > 3 ? 1 : 0), 0.5), h = rowHeight - 1;
    const isHit = d.searching && v.matched && !box.small;
    context.globalAlpha = box.above ? 0.55 : d.searching && !isHit ? 0.45 : 1;
    context.fillStyle = box.small ? (colors.dark ? '#34353a' : '#e4e2dd') : isHit ? colors.hit : colorOf(v, colors.dark);
    context.beginPath();
    context.roundRect(box.x, y, w, h, Math.min(2, w / 2));
    context.fill();
    if (!box.small && v.marks & markGuess && w > 4) hatch(box.x, y, w, h, colors.ink);
    if (v === d.selected && !box.small || v === d.hovered) {
      context.globalAlpha = 1;
      context.strokeStyle = colors.ink;
      context.lineWidth = v === d.selected ? 2 : 1;
      if (!box.small || v !== d.selected) context.strokeRect(box.x + 1, y + 1, Math.max(w - 2, 1), h - 2);
    }
    if (w < 24) {
      context.globalAlpha = 1;
      return;
    }
    const font = box.small || v.marks & (markSymtab | markUnnamed | markNoFrame) ? 'italic' : 'plain';
    let text = box.small ? smallText(box.small, box.value, d.measure) : v.frame < 0 ? 'all: ' + amount(v.value, d.measure) : nameOf(v);
    const room = w - 8;
    const full = text;
    text = fitted(text, room, font);
    context.font = fonts[font];
    context.fillStyle = isHit ? '#fff' : colors.ink;
    context.globalAlpha = box.small ? 0.75 : box.above ? 0.8 : d.searching && !isHit ? 0.6 : 1;
    context.fillText(text, box.x + 4, y + h / 2 + 0.5);
    // What is left of the room says where, and how much.
    if (text === full && !box.small && v.frame >= 0) {
      const more = [placeOf(v), amount(v.value, d.measure)].filter(Boolean).join('  ');
      const used = widthOf(text, font) + 14;
      if (used + widthOf(more, 'plain') < room) {
        context.font = fonts.plain;
        context.globalAlpha *= 0.62;
        context.fillText(more, box.x + used, y + h / 2 + 0.5);
      }
    }
    context.globalAlpha = 1;
  }

  function hatch(x, y, w, h, ink) {
    context.save();
    context.beginPath();
    context.rect(x, y, w, h);
    context.clip();
    context.globalAlpha = 0.18;
    context.strokeStyle = ink;
    context.lineWidth = 1.5;
    context.beginPath();
    for (let at = x - h; at < x + w; at += 7) {
      context.moveTo(at, y + h);
      context.lineTo(at + h, y);
    }
    context.stroke();
    context.restore();
  }

  // boxAt is what is drawn at a point of the stage.
  d.boxAt = (x, y) => {
    const row = d.rows[Math.floor((y + stage.scrollTop) / rowHeight)] || [];
    let low = 0, high = row.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (row[middle].x <= x) low = middle + 1; else high = middle;
    }
    const box = row[low - 1];
    return box && x < box.x + Math.max(box.w, 1) ? box : null;
  };

  d.reveal = view => {
    const y = view.depth * rowHeight;
    if (y < stage.scrollTop) stage.scrollTop = y;
    if (y + rowHeight > stage.scrollTop + stage.clientHeight) stage.scrollTop = y + rowHeight - stage.clientHeight;
  };
  return d;
}

// withoutArguments drops the last list of arguments of a C++ or Rust function.
function withoutArguments(name) {
  const end = name.lastIndexOf(')');
  if (end < 0) return name;
  let depth = 0;
  for (let i = end; i > 0; i--) {
    if (name[i] === ')') depth++;
    if (name[i] === '(' && --depth === 0) return name.endsWith('operator', i) ? name : name.slice(0, i);
  }
  return name;
}
