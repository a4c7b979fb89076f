// Charts in SVG, drawn anew with each frame. Lines are told apart by dash, shape and name; colour only helps.

const SPACE = "http://www.w3.org/2000/svg";
const SECOND = 1000, MINUTE = 60 * SECOND, HOUR = 60 * MINUTE, DAY = 24 * HOUR;
const STEPS = [1, 5, 15, 30].map((n) => n * SECOND).concat([1, 5, 15, 30].map((n) => n * MINUTE),
  [1, 3, 6, 12].map((n) => n * HOUR), [1, 2, 7, 14, 30, 91, 365].map((n) => n * DAY));
const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
const SHAPES = {
  circle: "M-4,0a4,4 0 1,0 8,0a4,4 0 1,0 -8,0z", square: "M-4,-4h8v8h-8z", triangle: "M0,-5L5,4H-5z",
  diamond: "M0,-6L4.5,0L0,6L-4.5,0z", cross: "M-5,-1.6h3.4v-3.4h3.2v3.4h3.4v3.2h-3.4v3.4h-3.2v-3.4h-3.4z",
  down: "M0,5L5,-4H-5z",
};

export const FAMILY = {
  marginal: { dash: "4 3", shape: "cross" }, direct: { dash: "none", shape: "circle" },
  factored: { dash: "7 3", shape: "square" }, residual: { dash: "2 2", shape: "triangle" },
  mixture: { dash: "9 2 2 2", shape: "diamond" },
};
export const KINDS = Object.entries({ circle: "none", square: "7 3", triangle: "2 2", diamond: "9 2 2 2", down: "4 3" })
  .map(([shape, dash], place) => ({ shape, dash, look: `shade-${place % 4}` }));

export function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  return filled(made, attributes, children);
}

function svg(name, attributes = {}, ...children) {
  return filled(document.createElementNS(SPACE, name), attributes, children);
}

function filled(made, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children.filter((child) => child !== null));
  return made;
}

export function whole(number) {
  return Math.round(number).toString().replace(/\B(?=(\d{3})+$)/g, ",");
}

export function moment(at) {
  const time = new Date(at);
  return `${time.getUTCDate()} ${MONTHS[time.getUTCMonth()]} ${time.getUTCFullYear()}, ${clock(time)}`;
}

export function span(milliseconds) {
  for (const [unit, name] of [[DAY, "day"], [HOUR, "hour"], [MINUTE, "minute"], [SECOND, "second"]]) {
    if (milliseconds >= unit) {
      const many = Math.round((milliseconds / unit) * 10) / 10;
      return `${many} ${name}${many === 1 ? "" : "s"}`;
    }
  }
  return `${Math.round(milliseconds)} ms`;
}

function clock(time, seconds = false) {
  return time.toISOString().slice(11, seconds ? 19 : 16);
}

function timeTicks(from, to, most) {
  const step = STEPS.find((each) => (to - from) / each <= most) ?? STEPS.at(-1);
  const ticks = [];
  for (let at = Math.ceil(from / step) * step; at <= to; at += step) {
    const time = new Date(at);
    const name = step >= DAY ? `${time.getUTCDate()} ${MONTHS[time.getUTCMonth()]}` : clock(time, step < MINUTE);
    ticks.push([at, name]);
  }
  return ticks;
}

function spanTicks(from, to, room) {
  const all = [[SECOND, "1 s"], [10 * SECOND, "10 s"], [MINUTE, "1 min"], [10 * MINUTE, "10 min"], [HOUR, "1 h"],
    [6 * HOUR, "6 h"], [DAY, "1 day"], [3 * DAY, "3 days"], [7 * DAY, "7 days"], [14 * DAY, "14 days"],
    [30 * DAY, "30 days"], [90 * DAY, "90 days"], [365 * DAY, "1 year"]].filter(([at]) => at >= from && at <= to);
  const kept = [];
  for (const tick of all.reverse()) if (!kept.length || room(kept.at(-1)[0]) - room(tick[0]) > 52) kept.push(tick);
  return kept;
}

function numberTicks(low, high) {
  const rough = (high - low) / 4, size = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((n) => n * size).find((each) => each >= rough);
  const ticks = [];
  for (let at = Math.ceil(low / step - 1e-9) * step; at <= high + step * 1e-9; at += step) ticks.push(at);
  return ticks.map((at) => [at, at.toFixed(Math.max(0, -Math.floor(Math.log10(step) + 1e-9)))]);
}

// A chart of lines over time, or over spans (`log`). Each line: {name, dash, shape, look, values}; marks: {at, name, look}.
export function lines(place, { at, lines: drawn, range, marks = [], log = false, about, steps = false }) {
  const width = Math.max(place.clientWidth, 240), height = 208;
  const right = 12 + Math.min(7 * Math.max(...drawn.map((line) => line.name.length)), 110);
  const box = { left: 36, top: 10 + (marks.length ? 14 : 0), right: width - right, bottom: height - 22 };
  const known = drawn.flatMap((line) => line.values.filter((value) => value !== null));
  const [from, to] = at.length > 1 ? [at[0], at.at(-1)] : [(at[0] ?? 0) - 1, (at[0] ?? 0) + 1];
  const put = log ? Math.log : (value) => value;
  const x = (value) => box.left + ((put(value) - put(from)) / (put(to) - put(from))) * (box.right - box.left);
  const [low, high] = range ?? padded(known);
  const y = (value) => box.bottom - ((value - low) / (high - low)) * (box.bottom - box.top);
  const root = svg("svg", { viewBox: `0 0 ${width} ${height}`, height, role: "img", "aria-label": about });
  for (const [value, name] of numberTicks(low, high)) {
    root.append(svg("line", { x1: box.left, x2: box.right, y1: y(value), y2: y(value), class: "rule" }),
      svg("text", { x: box.left - 5, y: y(value) + 4, "text-anchor": "end" }, name));
  }
  const ticks = log ? spanTicks(from, to, x) : timeTicks(from, to, (box.right - box.left) / 44);
  for (const [value, name] of ticks) {
    root.append(svg("line", { x1: x(value), x2: x(value), y1: box.bottom, y2: box.bottom + 4, class: "rule" }),
      svg("text", { x: x(value), y: height - 5, "text-anchor": "middle" }, name));
  }
  for (const mark of marks) {
    if (mark.at < from || mark.at > to) continue;
    const turned = x(mark.at) > (box.left + box.right) / 2;
    root.append(svg("line", { x1: x(mark.at), x2: x(mark.at), y1: 4, y2: box.bottom, class: mark.look }),
      svg("text", { x: x(mark.at) + (turned ? -5 : 5), y: 12, "text-anchor": turned ? "end" : "start" }, mark.name));
  }
  drawn.forEach((line) => root.append(...oneLine(line, at, x, y, steps)));
  root.append(...names(drawn, box, y));
  place.replaceChildren(root);
}

function padded(values) {
  if (!values.length) return [0, 1];
  const low = Math.min(...values), high = Math.max(...values), pad = Math.max((high - low) * 0.08, 0.005);
  return [Math.max(0, low - pad), high + pad];
}

function oneLine({ values, dash, shape, look }, at, x, y, steps) {
  let path = "", pen = "M", last = null;
  values.forEach((value, place) => {
    if (value === null) { pen = "M"; return; }
    if (steps && pen === "L") path += `H${x(at[place]).toFixed(1)}`;
    path += `${pen}${x(at[place]).toFixed(1)},${y(value).toFixed(1)}`;
    pen = "L";
    last = [x(at[place]), y(value)];
  });
  if (last === null) return [];
  const every = Math.max(1, Math.ceil(values.length / 8)), dots = [];
  values.forEach((value, place) => {
    if (value !== null && (place % every === 0 || place === values.length - 1)) {
      dots.push(svg("path", { d: SHAPES[shape], class: `shape ${look}`,
        transform: `translate(${x(at[place]).toFixed(1)},${y(value).toFixed(1)})` }));
    }
  });
  return [svg("path", { d: path, class: `line ${look}`, "stroke-dasharray": dash }), ...dots];
}

// The names of lines stand where these end, moved apart where they would cover each other.
function names(drawn, box, y) {
  const ends = drawn.map((line) => ({ line, last: line.values.findLast((value) => value !== null) }))
    .filter((end) => end.last !== undefined).map((end) => ({ ...end, at: y(end.last) }))
    .sort((one, other) => one.at - other.at);
  ends.forEach((end, place) => { if (place) end.at = Math.max(end.at, ends[place - 1].at + 14); });
  for (let place = ends.length - 1, most = box.bottom + 4; place >= 0; place--) {
    ends[place].at = Math.min(ends[place].at, most);
    most = ends[place].at - 14;
  }
  return ends.flatMap(({ line, at }) => [
    svg("path", { d: SHAPES[line.shape], class: `shape ${line.look}`, transform: `translate(${box.right + 9},${at}) scale(.8)` }),
    svg("text", { x: box.right + 17, y: at + 4, class: "name" }, line.name.length > 17 ? `${line.name.slice(0, 16)}…` : line.name),
  ]);
}

// Predicted probability against observed frequency, with intervals; the diagonal is perfect calibration.
export function reliability(place, { rows, predicted, observed, low, high }, about) {
  const size = Math.min(Math.max(place.clientWidth, 220), 330), height = Math.min(size, 250);
  const box = { left: 40, top: 8, right: size - 8, bottom: height - 34 };
  const x = (value) => box.left + value * (box.right - box.left), y = (value) => box.bottom - value * (box.bottom - box.top);
  const root = svg("svg", { viewBox: `0 0 ${size} ${height}`, role: "img", "aria-label": about });
  root.style.maxWidth = `${size}px`;
  for (const share of [0, 0.25, 0.5, 0.75, 1]) {
    root.append(svg("line", { x1: box.left, x2: box.right, y1: y(share), y2: y(share), class: "rule" }),
      svg("text", { x: box.left - 5, y: y(share) + 4, "text-anchor": "end" }, `${share * 100}%`),
      svg("text", { x: x(share), y: box.bottom + 14, "text-anchor": "middle" }, `${share * 100}%`));
  }
  root.append(svg("line", { x1: x(0), y1: y(0), x2: x(1), y2: y(1), class: "edge" }),
    svg("text", { x: (box.left + box.right) / 2, y: height - 4, "text-anchor": "middle" }, "predicted probability"));
  const most = Math.max(...rows);
  rows.forEach((count, n) => {
    root.append(svg("line", { x1: x(predicted[n]), x2: x(predicted[n]), y1: y(low[n]), y2: y(high[n]), class: "line served" }),
      svg("path", { d: SHAPES.diamond, class: "shape served",
        transform: `translate(${x(predicted[n])},${y(observed[n])}) scale(${0.5 + Math.sqrt(count / most)})` },
      svg("title", {}, `${count} predictions: ${(100 * predicted[n]).toFixed(0)} % predicted, ${(100 * observed[n]).toFixed(0)} % observed`)));
  });
  place.replaceChildren(root);
}

// Two bars for each row of {name, one, other}: the first hatched, the second full.
export function bars(place, rows, [one, other], about) {
  const width = Math.max(place.clientWidth, 240), each = 30, left = 92, right = width - 52, height = rows.length * each + 22;
  const most = Math.max(1, ...rows.flatMap((row) => [row.one, row.other]));
  const root = svg("svg", { viewBox: `0 0 ${width} ${height}`, height, role: "img", "aria-label": about },
    svg("defs", {}, svg("pattern", { id: "hatch", width: 5, height: 5, patternUnits: "userSpaceOnUse",
      patternTransform: "rotate(45)" }, svg("line", { x1: 0, y1: 0, x2: 0, y2: 5, class: "hatched", "stroke-width": 2.4 }))));
  const bar = (x, y, long, kind) => kind
    ? svg("rect", { x, y, width: long, height: 10, class: "full" })
    : svg("rect", { x, y, width: long, height: 10, fill: "url(#hatch)", class: "hatched" });
  rows.forEach((row, n) => {
    root.append(svg("text", { x: 0, y: n * each + 17, class: "name" }, row.name));
    [row.one, row.other].forEach((value, kind) => {
      const long = (value / most) * (right - left), top = n * each + 2 + kind * 12;
      root.append(bar(left, top, long, kind), svg("text", { x: left + long + 5, y: top + 9 }, whole(value)));
    });
  });
  const below = height - 14;
  root.append(bar(left, below, 16, 0), svg("text", { x: left + 21, y: below + 9 }, one),
    bar(left + 120, below, 16, 1), svg("text", { x: left + 141, y: below + 9 }, other));
  place.replaceChildren(root);
}

// A row of thin bars, the latest at the right.
export function spark(place, values, about) {
  const width = Math.max(place.clientWidth, 240), height = 74, most = Math.max(1, ...values), step = width / 120;
  const root = svg("svg", { viewBox: `0 0 ${width} ${height}`, height, role: "img", "aria-label": about },
    svg("line", { x1: 0, x2: width, y1: height - 16, y2: height - 16, class: "rule" }),
    svg("text", { x: 0, y: height - 3 }, "2 minutes ago"), svg("text", { x: width, y: height - 3, "text-anchor": "end" }, "now"),
    svg("text", { x: 0, y: 10 }, `most: ${whole(Math.max(0, ...values))}`));
  values.forEach((value, n) => {
    const high = (value / most) * (height - 34);
    root.append(svg("rect", { x: width - (values.length - n) * step, y: height - 16 - high, width: step * 0.8, height: high,
      class: "full" }));
  });
  place.replaceChildren(root);
}
