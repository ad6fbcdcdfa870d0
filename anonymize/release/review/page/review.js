// The page: one picture after the other, a key for each decision.

import * as api from "./api.js";
import { List } from "./list.js";
import { Panes, arrows, framed } from "./panes.js";
import { difference, windowed } from "./raster.js";

const INPUT = 0, OUTPUT = 1, CHANGE = 2;
const WORDS = { accepted: "accepted", quarantined: "in quarantine", undecided: "not looked at" };
const element = (id) => document.getElementById(id);
const panes = new Panes(["input", "output", "change"].map(element));
let list, loaded = null, broken = null, drawn = null, which = 0, blink = false, busy = false;

const chosen = () => ({ level: element("level").value / 100, width: element("width").value / 100 });

function say(problem) {
  element("message").textContent = problem ?? "";
  element("message").hidden = !problem;
}

async function attempt(work) {
  try {
    await work();
  } catch (error) {
    say(error.message);
  }
}

// Shows the current picture; until it is there, nothing can be decided. One that cannot be shown can
// go to quarantine.
async function show() {
  const picture = list.current;
  loaded = broken = drawn = null;
  blink = false;
  describe();
  [INPUT, OUTPUT, CHANGE].forEach((place) => panes.set(place, null));
  panes.draw();
  say(picture ? null : "No picture is in this list.");
  if (!picture) return;
  const asked = which;
  const found = await api.picture(picture.number, asked).catch((error) => ({ error }));
  if (picture !== list.current || asked !== which) return; // somebody went on meanwhile
  if (found.error) {
    broken = picture;
    describe();
    throw found.error;
  }
  loaded = { ...found, picture };
  render();
  describe();
  for (const next of list.coming) api.picture(next.number).catch(() => {});
}

// Draws what is loaded, anew where level or window changed.
function render() {
  if (!loaded) return;
  const { input, output } = loaded;
  const window = chosen();
  drawn = { input: input.problem ? null : windowed(input, window), output: windowed(output, window) };
  say(input.problem ? `The input cannot be shown: ${input.problem}` : null);
  drawn.change = drawn.input && element("changes").checked
    ? difference(drawn.input, drawn.output) : null;
  place();
}

// Puts pictures, boxes and arrows into the panes.
function place() {
  if (!drawn) return;
  const { input, details } = loaded;
  const boxes = element("boxes").checked && details.boxes?.length && !input.problem
    ? [framed(details.boxes, {
      width: input.width * input.shrunk, height: input.height * input.shrunk,
    })] : [];
  const field = element("arrows").checked && details.moved ? [arrows(details.moved)] : [];
  panes.set(INPUT, drawn.input, boxes);
  panes.set(OUTPUT, blink && drawn.input ? drawn.input : drawn.output, boxes);
  panes.set(CHANGE, drawn.change?.canvas ?? null, [...field, ...boxes]);
  element("blinking").textContent = blink ? "– the input, blinked" : "";
  element("gain").textContent = drawn.change ? `× ${drawn.change.gain.toPrecision(2)}` : "";
  element("change-pane").hidden = !element("changes").checked;
  panes.draw();
}

function describe() {
  const picture = list.current;
  const state = picture?.state ?? "undecided";
  element("accept").disabled = !loaded || busy;
  element("quarantine").disabled = !(loaded || broken) || busy;
  element("panes").className = element("state").className = picture ? state : "";
  element("state").textContent = picture ? WORDS[state] : "";
  element("place").textContent = picture ? `${list.place + 1} of ${list.chosen.length}` : "";
  element("name").textContent = picture?.name ?? "";
  element("told").textContent = loaded ? told(loaded) : picture && !broken ? "loading …" : "";
  const inputs = loaded?.details.inputs ?? [];
  element("which").textContent = inputs.length > 1 ? `${which + 1} of ${inputs.length}` : "";
  element("source").textContent = inputs[which] ? `input: ${inputs[which]}` : "";
  element("source").hidden = !element("names").checked;
}

function told({ details, output }) {
  const figures = details.figures;
  const parts = [`${output.width * output.shrunk} × ${output.height * output.shrunk}`];
  if (output.shrunk > 1) parts.push(`shown at 1/${output.shrunk}`);
  if (figures.displacement_max_px != null) {
    const mean = figures.displacement_mean_px.toPrecision(2);
    parts.push(`moved ${mean} px on average, ${figures.displacement_max_px.toPrecision(2)} at most`);
  }
  if (figures.ssim != null) parts.push(`SSIM ${figures.ssim.toFixed(3)}`);
  if (figures.text_regions === null) parts.push("TEXT NOT LOOKED FOR");
  else if (figures.text_regions) parts.push(`text removed: ${figures.text_regions}`);
  return [...parts, details.unfit].filter(Boolean).join(" · ");
}

function count({ accepted, quarantined, undecided }) {
  const all = accepted + quarantined + undecided;
  Object.assign(element("bar"), { max: Math.max(all, 1), value: all - undecided });
  const held = quarantined ? `, ${quarantined} in quarantine` : "";
  element("counts").textContent = `${all - undecided} of ${all} looked at${held}`;
  element("end").hidden = undecided > 0;
}

// Nothing is accepted that is not on the screen, nor decided twice at once.
async function decide(verdict) {
  const shown = loaded?.picture ?? (verdict === "quarantine" ? broken : null);
  if (!shown || busy || shown !== list.current) return;
  busy = true;
  describe();
  await attempt(async () => {
    const { state, counts } = await api.decide(list.current.number, verdict);
    list.current.state = state;
    count(counts);
    which = 0;
    const before = list.place;
    list.forward();
    busy = false;
    if (list.place === before) describe();
    else await show();
  });
  busy = false;
  describe();
}

const go = (step) => attempt(() => {
  which = 0;
  list.move(step);
  return show();
});

const other = (step) => attempt(() => {
  const last = (loaded?.details.inputs.length ?? 1) - 1;
  const next = Math.min(Math.max(which + step, 0), last);
  if (next === which) return null;
  which = next;
  return show();
});

function choose() {
  list.choose(element("filter").value, element("order").value);
  which = 0;
  attempt(show);
}

function reset() {
  element("level").value = 50;
  element("width").value = 100;
  panes.fit();
  render();
}

function tick(id) {
  element(id).checked = !element(id).checked;
  element(id).dispatchEvent(new Event("change"));
}

const KEYS = {
  a: () => decide("accept"), q: () => decide("quarantine"),
  ArrowLeft: () => go(-1), ArrowRight: () => go(1),
  " ": () => { blink = !blink; place(); },
  z: () => panes.toggle(), r: reset, "[": () => other(-1), "]": () => other(1),
  t: () => tick("boxes"), d: () => tick("arrows"), c: () => tick("changes"), n: () => tick("names"),
  "?": () => element("help").showModal(),
};
const CLICKS = {
  accept: "a", quarantine: "q", back: "ArrowLeft", next: "ArrowRight", reset: "r", "help-button": "?",
};

function listen() {
  document.addEventListener("keydown", (event) => {
    const own = event.target.matches("select, input[type=range]") && event.key.startsWith("Arrow");
    if (event.ctrlKey || event.altKey || event.metaKey || element("help").open || own) return;
    const work = KEYS[event.key.length === 1 ? event.key.toLowerCase() : event.key];
    if (!work || (event.key === " " && event.target.matches("button, input, select"))) return;
    event.preventDefault();
    if (!event.repeat) work(); // a key that is held decides once
  });
  for (const [id, key] of Object.entries(CLICKS)) {
    element(id).addEventListener("click", () => KEYS[key]());
  }
  // What was clicked with the mouse takes no further keys.
  document.addEventListener("click", ({ detail, target }) => {
    if (detail > 0 && target.matches("button, input")) target.blur();
  });
  for (const id of ["filter", "order"]) {
    element(id).addEventListener("change", () => { element(id).blur(); choose(); });
  }
  for (const id of ["level", "width"]) element(id).addEventListener("input", render);
  for (const id of ["boxes", "arrows", "names"]) {
    element(id).addEventListener("change", () => { place(); describe(); });
  }
  element("changes").addEventListener("change", render);
  element("end").addEventListener("click", () => attempt(async () => {
    await api.end();
    say("All is done, and the release is as you decided. You may close this page.");
    element("end").disabled = true;
  }));
}

await attempt(async () => {
  await api.begin();
  const { pictures, counts } = await api.release();
  list = new List(pictures);
  count(counts);
  listen();
  await show();
});
