// The connection: a stream of frames that reconnects by itself, and pauses while the page is hidden.

import { draw, moment } from "./panels.js";

const status = document.getElementById("status"), form = document.getElementById("token");
const KEPT = "presage token";
let token = sessionStorage.getItem(KEPT), waits = 0, stop = null, last = null, retry = null;

function tell(words, lost = false) {
  if (status.textContent !== words) status.textContent = words;
  status.classList.toggle("lost", lost);
}

function show() {
  if (!last) return;
  draw(last);
  tell(`${last.ready ? `not ready: ${last.ready}` : "live"} · ${last.at === null ? "no events yet" : moment(last.at)} UTC`,
    Boolean(last.ready));
}

async function listen() {
  stop = new AbortController();
  const headers = token ? { authorization: `Bearer ${token}` } : {};
  const answer = await fetch("dashboard/stream", { headers, signal: stop.signal, cache: "no-store" });
  if (answer.status === 401) return ask();
  if (!answer.ok) throw new Error(`the service answered ${answer.status}`);
  form.hidden = true;
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  for (let text = ""; ;) {
    const { value, done } = await reader.read();
    if (done) throw new Error("the service ended the stream");
    text += value;
    const events = text.split("\n\n");
    text = events.pop();
    for (const event of events) {
      const data = event.split("\n").filter((line) => line.startsWith("data: ")).map((line) => line.slice(6)).join("");
      if (data) { last = JSON.parse(data); waits = 0; show(); }
    }
  }
}

function ask() {
  form.lastElementChild.textContent = token ? "Wrong token." : "";
  form.hidden = false;
  tell("token required");
}

form.addEventListener("submit", (event) => {
  event.preventDefault();
  token = form.querySelector("input").value;
  sessionStorage.setItem(KEPT, token);
  connect();
});

async function connect() {
  clearTimeout(retry);
  stop?.abort();
  try {
    await listen();
  } catch (error) {
    if (error.name === "AbortError") return;
    const seconds = Math.min(2 ** waits++, 5);
    tell(`connection lost; retrying in ${seconds} s`, true);
    retry = setTimeout(connect, 1000 * seconds);
  }
}

document.addEventListener("visibilitychange", () => {
  if (document.hidden) { clearTimeout(retry); stop?.abort(); tell("paused"); } else { connect(); }
});
addEventListener("resize", show);
connect();
