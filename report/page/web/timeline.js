const data = JSON.parse(document.getElementById("data").textContent);
const whole = data.duration - data.begin;
const out = document.querySelector("output");
const curves = [...document.querySelectorAll("svg")];
const hint = out.textContent;

// last is the index of the last entry of a list at or before a time, -1 if none is.
function last(list, t) {
  let lo = 0, hi = list.length;
  while (lo < hi) {
    const mid = (lo + hi) >> 1;
    if (list[mid][0] <= t) lo = mid + 1; else hi = mid;
  }
  return lo - 1;
}
function size(n) {
  if (n < 1024 || data.raw) return n + " B";
  let unit = -1, v = n;
  while (v >= 1023.95 && unit < 5) { v /= 1024; unit++; }
  return v.toFixed(1) + " " + "KMGTPE"[unit] + "iB (" + n.toLocaleString("en") + ")";
}
function time(us) { return us < 1e6 ? (us / 1e3).toFixed(3) + " ms" : (us / 1e6).toFixed(3) + " s"; }

// at shows the values of a time, in microseconds; it is that of the last event.
let now = -1;
function at(t) {
  now = Math.min(Math.max(data.begin, t), data.duration);
  const parts = [time(now)];
  const h = last(data.heap, now), r = last(data.rss, now), m = last(data.marks, now);
  if (h >= 0) parts.push("heap " + size(data.heap[h][1]), "event #" + data.heap[h][2]);
  if (r >= 0) parts.push("resident " + size(data.rss[r][1]));
  if (m >= 0) parts.push("after mark " + (m + 1) + ", " + data.marks[m][1]);
  out.textContent = parts.join(" \u00b7 ");
  const x = data.left + (whole ? (now - data.begin) / whole : 0) * data.width;
  for (const c of document.querySelectorAll(".cursor")) {
    c.setAttribute("x1", x);
    c.setAttribute("x2", x);
    c.classList.add("on");
  }
}
function leave() {
  now = -1;
  out.textContent = hint;
  for (const c of document.querySelectorAll(".cursor")) c.classList.remove("on");
}
for (const svg of curves) {
  svg.addEventListener("pointermove", e => {
    const p = new DOMPoint(e.clientX, e.clientY).matrixTransform(svg.getScreenCTM().inverse());
    at(data.begin + (p.x - data.left) / data.width * whole);
  });
  svg.addEventListener("pointerleave", leave);
  svg.addEventListener("blur", leave);
  svg.addEventListener("keydown", e => {
    const step = whole / (e.shiftKey ? 20 : 200);
    const to = { ArrowLeft: now - step, ArrowRight: now + step, Home: data.begin, End: data.duration }[e.key];
    if (to === undefined) return;
    e.preventDefault();
    at(to);
  });
}
