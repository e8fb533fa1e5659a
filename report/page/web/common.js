// What all pages share: the data, elements, numbers as text, light and dark.

const data = JSON.parse(document.getElementById('data').textContent);
const byId = id => document.getElementById(id);

// element makes one with attributes and children. Text is always a text node:
// names in a recording are foreign.
function element(tag, attributes, ...children) {
  const e = document.createElement(tag);
  for (const [k, v] of Object.entries(attributes || {})) {
    if (k.startsWith('on')) e.addEventListener(k.slice(2), v);
    else if (v !== undefined && v !== null) e.setAttribute(k, v);
  }
  e.append(...children);
  return e;
}

// bytes is a size with three digits or so, or as it is.
function bytes(n) {
  const sign = n < 0 ? '−' : '';
  n = Math.abs(n);
  if (n < 1024 || data.raw) return sign + n + ' B';
  let unit = -1;
  while (n >= 1023.995 && unit < 5) { n /= 1024; unit++; }
  const digits = n >= 100 ? 0 : n >= 10 ? 1 : 2;
  return sign + n.toFixed(digits) + ' ' + ['KiB', 'MiB', 'GiB', 'TiB', 'PiB', 'EiB'][unit];
}

// grouped is a number with its thousands apart.
const grouped = n => String(n).replace(/\B(?=(\d{3})+(?!\d))/g, ',');

// counted is a number with its noun.
const counted = (n, noun) => grouped(n) + ' ' + noun + (n === 1 ? '' : 's');

function percent(part, whole) {
  if (!(whole > 0) || part === 0) return '0 %';
  const p = 100 * part / whole;
  if (p > 0 && p < 0.01) return '<0.01 %';
  return p.toFixed(p < 1 ? 2 : 1) + ' %';
}

function seconds(s) {
  if (s >= 120) return Math.floor(s / 60) + ' min ' + Math.round(s % 60) + ' s';
  if (s >= 1 || s === 0) return s.toFixed(2) + ' s';
  if (s >= 0.001) return (s * 1000).toFixed(1) + ' ms';
  return (s * 1e6).toFixed(0) + ' µs';
}

const baseName = path => path.slice(path.lastIndexOf('/') + 1);

// measures are report.Measures, and the growth between two moments.
const measures = [
  { word: 'live', title: 'Live', hint: 'bytes not freed at this moment: leaked, at the end of a program', bytes: true },
  { word: 'peak', title: 'Peak', hint: 'bytes live when most were', bytes: true },
  { word: 'bytes', title: 'Total', hint: 'bytes of all blocks that were allocated', bytes: true },
  { word: 'count', title: 'Count', hint: 'blocks allocated' },
  { word: 'temporary', title: 'Temporary', hint: 'blocks freed before another one was allocated' },
  { word: 'blocks', title: 'Blocks', hint: 'blocks not freed at this moment' },
];
const growth = { word: 'growth', title: 'Growth', hint: 'how live bytes changed between the two moments below', bytes: true };

const amount = (n, measure) => measure.bytes ? bytes(n) : grouped(n);
const longAmount = (n, measure) => measure.bytes ? (Math.abs(n) < 1024 || data.raw ? bytes(n) : bytes(n) + ' (' + grouped(n) + ' bytes)') : counted(n, 'block');

// Facts about the recording, in the heading.
function showFacts() {
  byId('title').textContent = data.title || 'no program';
  document.body.dataset.program = data.program;
  const facts = [];
  if (data.pid) facts.push('pid ' + data.pid + (data.host ? ' on ' + data.host : ''));
  if (data.start) facts.push(data.start);
  facts.push(counted(data.events, 'event') + ' in ' + seconds(data.moment.time - data.begin));
  facts.push(counted(data.stacks, 'stack'));
  byId('facts').textContent = facts.join(' · ');
  const warnings = [...(data.caveats || [])];
  if (data.failed) warnings.push(counted(data.failed, 'allocation') + ' failed');
  byId('warnings').textContent = warnings.join(' · ');
  byId('facts').title = data.program + '\n' + facts.join('\n');
  byId('title').title = data.title;
  byId('made').textContent = data.created;
}

const isDark = () => document.documentElement.dataset.theme
  ? document.documentElement.dataset.theme === 'dark'
  : matchMedia('(prefers-color-scheme: dark)').matches;

// themeButton switches between light and dark; changed is called after, and when
// the system does.
function themeButton(changed) {
  const button = byId('theme');
  const label = () => {
    button.textContent = isDark() ? '☀' : '☾';
    button.setAttribute('aria-label', isDark() ? 'light colours' : 'dark colours');
  };
  button.addEventListener('click', () => {
    document.documentElement.dataset.theme = isDark() ? 'light' : 'dark';
    label();
    changed();
  });
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => { label(); changed(); });
  label();
}

// matcher makes a test out of what was typed: words anywhere, or /an expression/.
function matcher(text) {
  text = text.trim();
  if (text === '') return null;
  const re = /^\/(.+)\/$/.exec(text);
  if (re) {
    try {
      const found = new RegExp(re[1], 'i');
      return s => found.test(s);
    } catch {
      return () => false;
    }
  }
  const low = text.toLowerCase();
  return s => s.toLowerCase().includes(low);
}
