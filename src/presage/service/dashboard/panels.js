// The panels: what a frame says, in words and charts. A panel that has nothing to show says why.

import { FAMILY, KINDS, bars, element, lines, moment, reliability, span, spark, whole } from "./draw.js";

let chosen = null; // the outcome that is looked at

const PANELS = {
  loss: ["Loss, as outcomes come", loss],
  early: ["Loss before outcomes come", early],
  drift: ["What a proxy means: g", drift],
  weights: ["Whom the mixture trusts", weights],
  reliability: ["Calibration", calibration],
  known: ["How much is known after a while", known],
  pending: ["Waiting, by age", pending],
  counts: ["What became of everything", counts],
  lag: ["The learner", lag],
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
    [whole(frame.bins.open), "open: something is awaited"],
    [recent ? recent.served.toFixed(3) : "none yet", `loss of the last ${recent ? whole(recent.rows) : 0} outcomes`],
    ...(recent ? [against(recent.over_marginal[0], "the marginal")] : []),
    ...(recent?.over_direct ? [against(recent.over_direct[0], "its direct experts")] : []),
    [{ alarm: "▲ alarm", slight: "slight drift", stable: "stable", unknown: "unknown" }[frame.drift.state],
      "what a proxy means"],
    [whole(frame.lag.lessons), "lessons wait for the learner"],
  ];
  document.getElementById("tiles").replaceChildren(
    ...shown.map(([number, name]) => element("li", {}, element("b", {}, number), name)));
}

function against(gain, whom) {
  return [Math.abs(gain).toFixed(3), `${gain < 0 ? "more" : "less"} lost than by ${whom}`];
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
  const chart = say(place, words, "By when predictions were made. Expected: when the proxy came. True: once all outcomes are in.");
  if (!at.length) return chart.replaceChildren();
  const marks = until === null ? [] : [{ at: until, name: "outcomes are in up to here", look: "edge" }];
  lines(chart, { at, marks, about: words, lines: [
    { name: "expected", dash: "2 2", shape: "triangle", look: "residual", values: expected },
    { name: "true", dash: "none", shape: "circle", look: "direct", values: real }] });
}

function drift(frame, place, { at, shares, state, words, since: changed, p }) {
  place.classList.toggle("alarming", state === "alarm");
  const outcome = frame.outcomes[chosen];
  const chart = say(place, words,
    `How often “${outcome}” followed each proxy, by when predictions were made; only where all outcomes are in.`);
  if (!at.length) return chart.replaceChildren();
  const drawn = frame.proxies.map((name, z) => ({ name, ...KINDS[z % KINDS.length], values: shares[chosen][z] }));
  const marks = changed === null ? [] : [{ at: changed, name: "changed about here", look: "mark" }];
  lines(chart, { at, lines: drawn, range: [0, 1], marks, about: `${words} p = ${p}` });
}

function weights(frame, place, { at, families, why }) {
  const chart = say(place, why, why ? "" : "The weight of each family of experts, since the service was started.");
  if (!at.length) return chart.replaceChildren();
  const drawn = Object.entries(families).map(([name, values]) => line(name, name, values));
  const last = drawn.map((each) => `${each.name} ${each.values.at(-1)}`).join(", ");
  lines(chart, { at, lines: drawn, range: [0, 1], about: `Weights now: ${last}` });
}

function calibration(frame, place, tables) {
  const table = tables[chosen], outcome = frame.outcomes[chosen];
  if (!table) return say(place, "No outcome has come yet.").replaceChildren();
  const rows = table.rows.reduce((sum, each) => sum + each, 0);
  const words = `How often “${outcome}” came was ${(100 * table.error).toFixed(1)} points off what was said, on average ` +
    `over the last ${whole(rows)} outcomes.`;
  const chart = say(place, words, "How likely it was said to be, and how often it came, with 95 % intervals.");
  chooser(place, frame.outcomes);
  reliability(chart, table, words);
}

// Of more than two outcomes one is chosen, for calibration and for g.
function chooser(place, outcomes) {
  if (outcomes.length < 3 || place.querySelector("select")) return;
  const made = element("select", { "aria-label": "outcome" },
    ...outcomes.map((name, n) => element("option", n === chosen ? { selected: "" } : {}, name)));
  made.addEventListener("change", () => { chosen = made.selectedIndex; });
  place.children[0].after(element("div", {}, made));
}

function known(frame, place, { after, proxy, outcome }) {
  const there = proxy.some((share) => share !== null);
  const chart = say(place, there ? "" : "No prediction is old enough to tell.",
    there ? "Of predictions that are so old: the share whose proxy, and whose outcome, is known." : "");
  if (!there) return chart.replaceChildren();
  lines(chart, { at: after, log: true, range: [0, 1], about: "the share that is known after a while", lines: [
    { name: "proxy", dash: "7 3", shape: "square", look: "factored", values: proxy },
    { name: "outcome", dash: "none", shape: "circle", look: "direct", values: outcome }] });
}

function pending(frame, place, { upto, proxy, outcome, older }) {
  const names = upto.map((edge) => `up to ${span(edge)}`).concat("older");
  const rows = names.map((name, n) => ({ name, one: proxy[n], other: outcome[n] }))
    .filter((row, n) => n < upto.length || row.one + row.other);
  const words = `${whole(frame.bins.open)} predictions are open.`;
  const chart = say(place, words, older ? `About ${whole(older)} more were made before the memory of this page.` : "");
  bars(chart, rows, ["proxy awaited", "outcome awaited"], words);
}

const BINS = {
  open: "predictions that await something", trained: "learnt, or a prediction learnt from",
  absent: "did not come in time", late: "came after that: kept, not learnt", parked: "came before its prediction, waits",
  quarantined: "not of this task",
};

function counts(frame, place) {
  const chart = say(place, "", "Repeats and conflicts append nothing; they are counted since the service was started.");
  const bins = Object.entries(BINS).map(([name, about]) => element("tr", {},
    element("td", {}, name, " ", element("small", {}, about)), element("td", {}, whole(frame.bins[name]))));
  const kinds = Object.keys(frame.refused.repeated);
  const refused = Object.entries(frame.refused).map(([why, each]) => element("tr", {},
    element("td", {}, why), ...kinds.map((kind) => element("td", {}, whole(each[kind])))));
  chart.replaceChildren(
    element("table", {}, element("tr", {}, element("th", {}, "entries of the log"), element("th", {}, "how many")), ...bins),
    element("table", {}, element("tr", {}, element("th", {}, "refused"), ...kinds.map((kind) => element("th", {}, kind))),
      ...refused));
}

function lag(frame, place, { lessons, model, position, behind, over_time: over }) {
  const words = lessons
    ? `${whole(lessons)} lessons wait. The model knows the log up to entry ${whole(model)} of ${whole(position)}` +
      (behind ? `, ${span(behind)} of log time ago.` : ".")
    : `Nothing waits. The model learnt at entry ${whole(model)}; the log has ${whole(position)}.`;
  spark(say(place, words, "Lessons handed to the learner and not learnt yet."), over, words);
}

export { moment };
