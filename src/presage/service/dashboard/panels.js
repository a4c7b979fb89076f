// The panels: a frame in words and charts. A panel that has nothing to show says why.

import { FAMILY, KINDS, bars, element, lines, moment, reliability, span, spark, whole } from "./draw.js";

let chosen = null; // the outcome that is shown

const STATES = { alarm: "▲ changed", slight: "slight change", stable: "stable", unknown: "too little data" };

const PANELS = {
  loss: ["Log loss over time", loss],
  early: ["Early estimate of the loss", early],
  drift: ["Proxy to outcome", drift],
  weights: ["Expert weights", weights],
  reliability: ["Calibration", calibration],
  known: ["Feedback delay", known],
  pending: ["Open predictions by age", pending],
  counts: ["Events by status", counts],
  lag: ["Updates queued", lag],
};

export function draw(frame) {
  const main = document.getElementById("panels");
  document.getElementById("task").textContent = `${frame.task} · ${frame.forecaster}`;
  document.title = `${frame.drift.state === "alarm" ? "▲ " : ""}${frame.task} · Presage`;
  const alarm = document.getElementById("alarm");
  alarm.hidden = frame.drift.state !== "alarm";
  if (alarm.lastElementChild.textContent !== frame.drift.words) alarm.lastElementChild.textContent = frame.drift.words;
  tiles(frame);
  document.getElementById("tiles").hidden = main.hidden = false;
  chosen = Math.min(chosen ?? frame.outcomes.length - 1, frame.outcomes.length - 1);
  for (const [name, [heading, show]] of Object.entries(PANELS)) show(frame, panel(main, name, heading), frame[name]);
}

function panel(main, name, heading) {
  const there = document.getElementById(name);
  if (there) return there;
  const made = element("section", { id: name }, element("h2", {}, heading), element("p", { class: "said" }),
    element("div", { class: "chart" }), element("p", { class: "note" }));
  main.append(made);
  return made;
}

function say(place, words, note = "") {
  const [said, chart, below] = ["said", "chart", "note"].map((part) => place.querySelector(`.${part}`));
  if (said.textContent !== words) said.textContent = words;
  if (below.textContent !== note) below.textContent = note;
  said.hidden = !words;
  below.hidden = !note;
  return chart;
}

function tiles(frame) {
  const { recent } = frame.loss;
  const shown = [
    [whole(frame.predictions), "predictions in the log"],
    [whole(frame.bins.open), "open predictions"],
    [recent ? recent.served.toFixed(3) : "none yet", `log loss of the last ${recent ? whole(recent.rows) : 0} outcomes`],
    ...(recent ? [against(recent.over_marginal[0], "the marginal")] : []),
    ...(recent?.over_direct ? [against(recent.over_direct[0], "the direct experts")] : []),
    [STATES[frame.drift.state], "proxy to outcome"],
    [whole(frame.lag.lessons), "updates queued"],
  ];
  document.getElementById("tiles").replaceChildren(
    ...shown.map(([number, name]) => element("li", {}, element("b", {}, number), name)));
}

function against(gain, baseline) {
  return [Math.abs(gain).toFixed(3), `nats ${gain < 0 ? "worse" : "better"} than ${baseline}`];
}

function line(name, family, values, look = family) {
  return { name, ...(FAMILY[family] ?? FAMILY.mixture), look, values };
}

function loss(frame, place, { at, served, direct, marginal, words, why }) {
  const chart = say(place, words, why);
  if (!at.length) return chart.replaceChildren();
  const drawn = [line(frame.family, frame.family, served, FAMILY[frame.family] ? frame.family : "served"),
    ...(direct ? [line("direct", "direct", direct)] : []), line("marginal", "marginal", marginal)];
  lines(chart, { at, lines: drawn.filter((each, n) => n === 0 || each.name !== frame.family), about: words });
}

function early(frame, place, { at, early: expected, true: real, until, words }) {
  const chart = say(place, words,
    "By time of prediction. Expected: estimated when the proxy arrived. True: once all outcomes are in.");
  if (!at.length) return chart.replaceChildren();
  const marks = until === null ? [] : [{ at: until, name: "all outcomes in", look: "edge" }];
  lines(chart, { at, marks, about: words, lines: [
    { name: "expected", dash: "2 2", shape: "triangle", look: "residual", values: expected },
    { name: "true", dash: "none", shape: "circle", look: "direct", values: real }] });
}

function drift(frame, place, { at, shares, state, words, since: changed, p }) {
  place.classList.toggle("alarming", state === "alarm");
  place.firstElementChild.textContent = `Proxy to outcome: ${STATES[state]}`;
  const outcome = frame.outcomes[chosen];
  const chart = say(place, words,
    `Share of “${outcome}” after each proxy, by time of prediction; only where all outcomes are in.`);
  if (!at.length) return chart.replaceChildren();
  const drawn = frame.proxies.map((name, z) => ({ name, ...KINDS[z % KINDS.length], values: shares[chosen][z] }));
  const marks = changed === null ? [] : [{ at: changed, name: "change", look: "mark" }];
  lines(chart, { at, lines: drawn, range: [0, 1], marks, about: `${words} p = ${p}` });
}

function weights(frame, place, { at, families, why }) {
  const chart = say(place, why, why ? "" : "Weight of each family of experts since the service started.");
  if (!at.length) return chart.replaceChildren();
  const drawn = Object.entries(families).map(([name, values]) => line(name, name, values));
  const last = drawn.map((each) => `${each.name} ${each.values.at(-1)}`).join(", ");
  lines(chart, { at, lines: drawn, range: [0, 1], about: `Weights now: ${last}` });
}

function calibration(frame, place, tables) {
  const table = tables[chosen], outcome = frame.outcomes[chosen];
  if (!table) return say(place, "No outcomes yet.").replaceChildren();
  const rows = table.rows.reduce((sum, each) => sum + each, 0);
  const words = `“${outcome}”: predicted and observed frequency differ by ${(100 * table.error).toFixed(1)} points on ` +
    `average over the last ${whole(rows)} outcomes.`;
  const chart = say(place, words, "Predicted probability against observed frequency, with 95 % intervals.");
  chooser(place, frame.outcomes);
  reliability(chart, table, words);
}

// Of more than two outcomes one is chosen, for calibration and for the share after each proxy.
function chooser(place, outcomes) {
  if (outcomes.length < 3 || place.querySelector("select")) return;
  const made = element("select", { "aria-label": "outcome" },
    ...outcomes.map((name, n) => element("option", n === chosen ? { selected: "" } : {}, name)));
  made.addEventListener("change", () => { chosen = made.selectedIndex; });
  place.children[0].after(element("div", {}, made));
}

function known(frame, place, { after, proxy, outcome }) {
  const there = proxy.some((share) => share !== null);
  const chart = say(place, there ? "" : "No prediction is old enough yet.",
    there ? "Share of predictions whose proxy or outcome is known, by time since the prediction." : "");
  if (!there) return chart.replaceChildren();
  lines(chart, { at: after, log: true, range: [0, 1], about: "share known by time since the prediction", lines: [
    { name: "proxy", dash: "7 3", shape: "square", look: "factored", values: proxy },
    { name: "outcome", dash: "none", shape: "circle", look: "direct", values: outcome }] });
}

function pending(frame, place, { upto, proxy, outcome, older }) {
  const names = upto.map((edge) => `up to ${span(edge)}`).concat("older");
  const rows = names.map((name, n) => ({ name, one: proxy[n], other: outcome[n] }))
    .filter((row, n) => n < upto.length || row.one + row.other);
  const words = `${whole(frame.bins.open)} predictions are open.`;
  const chart = say(place, words, older ? `About ${whole(older)} of them are older than this page's history.` : "");
  bars(chart, rows, ["no proxy yet", "no outcome yet"], words);
}

const BINS = {
  open: "predictions still waiting for feedback", trained: "feedback that was learned, and predictions with such feedback",
  absent: "feedback that did not arrive in time", late: "feedback that came after its horizon: kept, not learned",
  parked: "feedback that came before its prediction", quarantined: "values that the task does not have",
};

function counts(frame, place) {
  const chart = say(place, "", "Repeats and conflicts add nothing to the log; they are counted since the service started.");
  const bins = Object.entries(BINS).map(([name, about]) => element("tr", {},
    element("td", {}, name, " ", element("small", {}, about)), element("td", {}, whole(frame.bins[name]))));
  const kinds = Object.keys(frame.refused.repeated);
  const refused = Object.entries(frame.refused).map(([why, each]) => element("tr", {},
    element("td", {}, why), ...kinds.map((kind) => element("td", {}, whole(each[kind])))));
  chart.replaceChildren(
    element("table", {}, element("tr", {}, element("th", {}, "log entries"), element("th", {}, "count")), ...bins),
    element("table", {}, element("tr", {}, element("th", {}, "not added"), ...kinds.map((kind) => element("th", {}, kind))),
      ...refused));
}

const DOING = { replaced: "being replaced", restoring: "reading a snapshot", saving: "writing a snapshot" };

function lag(frame, place, { lessons, model, position, behind, over_time: over, learner }) {
  const words = lessons
    ? `${whole(lessons)} queued. The model includes the log up to entry ${whole(model)} of ${whole(position)}` +
      (behind ? `, ${span(behind)} of log time behind.` : ".")
    : `None. The last update was at entry ${whole(model)} of ${whole(position)}.`;
  const state = learner === "waiting" ? "" : ` The learner is ${DOING[learner] ?? learner}.`;
  spark(say(place, words + state, "Proxies and outcomes that the model has not learned yet."), over, words);
}

export { moment };
