// The chart of live bytes over time, with two handles that choose moments.

// newChart draws into the element; changed is called with the indexes of the
// snapshots, -1 for the time before the first event.
function newChart(box, changed) {
  const canvas = box.querySelector('canvas'), context = canvas.getContext('2d');
  const snapshots = data.snapshots || [];
  const handles = [byId('from'), byId('to')];
  const chosen = [-1, snapshots.length - 1];
  const end = Math.max(data.moment.time, snapshots.length ? snapshots[snapshots.length - 1].time : 0, data.begin + 1e-9);
  const chart = { chosen, active: false };
  const rss = (data.rss || []).filter(p => p[0] >= data.begin);
  const pad = 7; // so that handles at the ends can be seen

  const timeOf = i => i < 0 ? data.begin : snapshots[i].time;
  const liveOf = i => i < 0 ? 0 : snapshots[i].live;
  const xOf = time => pad + (box.clientWidth - 2 * pad) * Math.min(Math.max(time - data.begin, 0) / (end - data.begin), 1);
  chart.describe = i => i < 0 ? 'before the first event' : seconds(timeOf(i)) + ', after event #' + grouped(snapshots[i].seq) + ': ' + bytes(liveOf(i)) + ' live';

  // choose moves a handle; they do not pass one another.
  const choose = (which, i) => {
    i = which === 0 ? Math.min(i, chosen[1] - 1) : Math.max(i, chosen[0] + 1);
    i = Math.max(which === 0 ? -1 : 0, Math.min(i, snapshots.length - 1));
    if (i === chosen[which]) return;
    chosen[which] = i;
    chart.paint();
    changed();
  };

  const nearest = x => {
    let best = -1;
    for (let i = -1; i < snapshots.length; i++) {
      if (Math.abs(xOf(timeOf(i)) - x) <= Math.abs(xOf(timeOf(best)) - x)) best = i;
    }
    return best;
  };

  const drag = (which, event) => {
    if (event.button !== 0) return;
    const move = e => choose(which, nearest(e.clientX - box.getBoundingClientRect().left));
    const stop = () => {
      removeEventListener('pointermove', move);
      removeEventListener('pointerup', stop);
    };
    addEventListener('pointermove', move);
    addEventListener('pointerup', stop);
    event.preventDefault();
    event.stopPropagation();
    handles[which].focus();
    return move;
  };
  handles.forEach((handle, which) => {
    handle.addEventListener('pointerdown', e => drag(which, e));
    handle.addEventListener('keydown', e => {
      const step = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1, PageDown: -8, PageUp: 8, Home: -1000, End: 1000 }[e.key];
      if (step === undefined) return;
      e.preventDefault();
      e.stopPropagation();
      choose(which, chosen[which] + step);
    });
  });
  box.addEventListener('pointerdown', e => {
    if (snapshots.length === 0) return;
    const x = e.clientX - box.getBoundingClientRect().left;
    const which = Math.abs(x - xOf(timeOf(chosen[0]))) < Math.abs(x - xOf(timeOf(chosen[1]))) ? 0 : 1;
    const move = drag(which, e);
    if (move) move(e);
  });
  box.addEventListener('pointermove', e => {
    const x = e.clientX - box.getBoundingClientRect().left;
    const near = (data.marks || []).filter(m => Math.abs(xOf(m.time) - x) < 5).map(m => 'mark ' + m.name);
    const i = nearest(x);
    box.title = near.concat(chart.describe(i)).join('\n');
  });

  const paintLine = (points, highest, height, fill, stroke) => {
    if (points.length === 0 || !(highest > 0)) return;
    const y = v => height - 2 - (height - 14) * v / highest;
    const begin = fill ? xOf(data.begin) : xOf(points[0][0]);
    context.beginPath();
    context.moveTo(begin, y(fill ? 0 : points[0][1]));
    let last = fill ? 0 : points[0][1];
    for (const [time, value] of points) { // which lasts until the next
      context.lineTo(xOf(time), y(last));
      context.lineTo(xOf(time), y(value));
      last = value;
    }
    if (stroke) {
      context.strokeStyle = stroke;
      context.lineWidth = 1.5;
      context.stroke();
    }
    if (fill) {
      context.lineTo(xOf(points[points.length - 1][0]), y(0));
      context.fillStyle = fill;
      context.fill();
    }
  };

  const peakText = () => {
    const { live, mapped } = data.peak;
    return mapped ? 'peak ' + bytes(live + mapped) + ': heap ' + bytes(live) + ', mappings ' + bytes(mapped) : 'peak ' + bytes(live);
  };

  chart.paint = () => {
    const width = box.clientWidth, height = box.clientHeight, ratio = devicePixelRatio || 1;
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    const style = getComputedStyle(document.documentElement), color = name => style.getPropertyValue(name);
    const from = xOf(timeOf(chosen[0])), to = xOf(timeOf(chosen[1]));
    const points = data.timeline || [], highest = Math.max(data.peak.live, ...points.map(p => p[1]));
    if (snapshots.length > 0) {
      context.fillStyle = color('--range');
      context.globalAlpha = chart.active ? 1 : 0.35;
      context.fillRect(from, 0, to - from, height);
      context.globalAlpha = 1;
    }
    paintLine(points, highest, height, color('--area'), color('--live'));
    paintLine(rss, Math.max(0, ...rss.map(p => p[1])), height, null, color('--rss'));
    context.font = '11px system-ui, "DejaVu Sans", sans-serif';
    context.textBaseline = 'top';
    context.lineWidth = 1;
    const ends = [-1, -1, -1]; // of the names in rows above one another
    for (const mark of data.marks || []) {
      const x = Math.round(xOf(mark.time)) + 0.5;
      context.strokeStyle = color('--mark');
      context.setLineDash([2, 2]);
      context.beginPath();
      context.moveTo(x, 0);
      context.lineTo(x, height);
      context.stroke();
      context.setLineDash([]);
      context.fillStyle = color('--mark');
      const name = mark.name.slice(0, 24), row = ends.findIndex(end => end < x);
      if (row < 0) continue; // the tooltip has it
      context.fillText(name, x + 3, height - 14 - 12 * row);
      ends[row] = x + 6 + context.measureText(name).width;
    }
    if (data.peak.live > 0 || data.peak.mapped > 0) {
      const x = xOf(data.peak.time), text = peakText(), room = context.measureText(text).width;
      context.fillStyle = color('--ink');
      context.beginPath();
      context.arc(x, 12, 3, 0, 7);
      context.fill();
      context.fillText(text, x + 8 + room > width ? x - 8 - room : x + 8, 1);
    }
    handles.forEach((handle, which) => {
      handle.hidden = snapshots.length === 0;
      handle.style.left = (which === 0 ? from : to) + 'px';
      handle.setAttribute('aria-valuemin', which === 0 ? -1 : 0);
      handle.setAttribute('aria-valuemax', snapshots.length - 1);
      handle.setAttribute('aria-valuenow', chosen[which]);
      handle.setAttribute('aria-valuetext', chart.describe(chosen[which]));
    });
    if (data.begin > 0) byId('axis-begin').textContent = seconds(data.begin);
    byId('axis-end').textContent = seconds(end);
    byId('rss-key').hidden = rss.length === 0;
    byId('live-key').textContent = 'live bytes, at most ' + bytes(highest);
    byId('rss-key').textContent = 'resident, at most ' + bytes(Math.max(0, ...rss.map(p => p[1]))) + ', on a scale of its own';
  };
  return chart;
}
