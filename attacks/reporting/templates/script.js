"use strict";
const all = (what, where = document) => [...where.querySelectorAll(what)];

// Methods on and off, in all figures at once.
const show = (method, on) => {
  all(`[data-m="${method}"]`).forEach((e) => e.classList.toggle("off", !on));
  all(`input[data-method="${method}"]`).forEach((e) => { e.checked = on; });
};
all("input[data-method]").forEach((box) => box.addEventListener("change", () => {
  show(box.dataset.method, box.checked);
  label();
}));
all("button[data-all]").forEach((button) => button.addEventListener("click", () => {
  const methods = new Set(all("input[data-method]").map((box) => box.dataset.method));
  methods.forEach((method) => show(method, button.dataset.all === "on"));
  label();
}));

// What a mark says: to a pointer, and to the keyboard, whose arrows go from mark to mark.
const tip = document.createElement("div");
tip.className = "tip";
tip.hidden = true;
tip.setAttribute("aria-hidden", "true");
document.body.append(tip);
const tell = (point) => {
  tip.textContent = point.getAttribute("aria-label").split("; ").join("\n");
  tip.hidden = false;
  const at = point.querySelector(".glyph").getBoundingClientRect();
  const left = Math.min(at.right + 10, innerWidth - tip.offsetWidth - 8);
  const above = at.top - tip.offsetHeight - 10;
  tip.style.left = `${Math.max(8, left)}px`;
  tip.style.top = `${above > 4 ? above : at.bottom + 10}px`;
};
const silent = () => { tip.hidden = true; };
all("g.point").forEach((point) => {
  point.addEventListener("pointerenter", () => tell(point));
  point.addEventListener("pointerleave", silent);
  point.addEventListener("focus", () => tell(point));
  point.addEventListener("blur", silent);
});
all("[data-points]").forEach((figure) => {
  const points = () => all("g.point", figure).filter((p) => !p.closest(".off"));
  const first = points()[0];
  if (first) first.setAttribute("tabindex", "0");
  figure.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    const shown = points();
    const at = shown.indexOf(document.activeElement);
    if (event.key === "Escape") silent();
    if (!step || at < 0) return;
    event.preventDefault();
    const next = shown[(at + step + shown.length) % shown.length];
    shown.forEach((p) => p.setAttribute("tabindex", "-1"));
    next.setAttribute("tabindex", "0");
    next.focus();
  });
});
addEventListener("scroll", () => {
  const focused = document.activeElement;
  if (focused.matches("g.point")) tell(focused);
  else silent();
}, { passive: true });

// Titles beside marks, where they cover nothing; what has no place is left to its tip.
const places = [[9, -8, "start"], [9, 17, "start"], [9, 4, "start"], [-9, -8, "end"],
  [-9, 17, "end"], [-9, 4, "end"], [0, -11, "middle"], [0, 20, "middle"],
  [14, -22, "start"], [14, 30, "start"], [-14, -22, "end"], [-14, 30, "end"]];
const apart = (a, b) => a.right < b.left || b.right < a.left || a.bottom < b.top || b.bottom < a.top;
const label = () => all("svg.plot").forEach((plot) => {
  const frame = plot.getBoundingClientRect();
  const boxes = (what) => all(what, plot).filter((e) => !e.closest(".off")).map((e) => e.getBoundingClientRect());
  const taken = boxes(".glyph, .ref + text");
  const bars = boxes(".bar");
  all("text.tag", plot).forEach((tag) => {
    if (tag.closest(".off")) return;
    tag.style.visibility = "hidden";
    if (frame.width < 520) return;
    for (const others of [[...taken, ...bars], taken]) {
      for (const [x, y, anchor] of places) {
        tag.setAttribute("x", x);
        tag.setAttribute("y", y);
        tag.setAttribute("text-anchor", anchor);
        const box = tag.getBoundingClientRect();
        if (box.left < frame.left - 30 || box.right > frame.right + 14 || box.top < frame.top - 8) continue;
        if (!others.every((other) => apart(box, other))) continue;
        taken.push(box);
        tag.style.visibility = "visible";
        return;
      }
    }
  });
});
addEventListener("resize", label);
label();

// Real, released, difference, displacement: a layer covers those before it.
const view = (value) => {
  all(".layer").forEach((layer) => {
    layer.style.opacity = Math.min(1, Math.max(0, value - layer.dataset.k + 1));
  });
  all(".slider input").forEach((slider) => {
    slider.value = value;
    slider.setAttribute("aria-valuetext", slider.dataset.stops.split(",")[Math.round(value)]);
  });
  all(".stops button").forEach((stop) => {
    stop.setAttribute("aria-pressed", String(Number(stop.dataset.stop) === Number(value)));
  });
};
document.addEventListener("input", (event) => {
  if (event.target.matches(".slider input")) view(event.target.value);
});
document.addEventListener("click", (event) => {
  const stop = event.target.closest(".stops button");
  if (stop) view(stop.dataset.stop);
});
view(1);

// Pictures open large.
const dialog = document.querySelector("dialog.large");
if (dialog) {
  const place = dialog.querySelector(".shown");
  all("button.cell").forEach((cell) => cell.addEventListener("click", () => {
    const copy = document.createElement("div");
    copy.className = cell.className;
    copy.append(...[...cell.childNodes].map((node) => node.cloneNode(true)));
    place.replaceChildren(copy);
    dialog.querySelector(".words").textContent = cell.getAttribute("aria-label");
    dialog.querySelector(".slider").hidden = !cell.querySelector(".layer");
    dialog.showModal();
  }));
  dialog.querySelector(".close").addEventListener("click", () => dialog.close());
  dialog.addEventListener("click", (event) => { if (event.target === dialog) dialog.close(); });
}

// Paper has all tables, and of the pictures those that are open.
let folded = [];
addEventListener("beforeprint", () => {
  folded = all("details:not([open], .seen)");
  folded.forEach((part) => { part.open = true; });
});
addEventListener("afterprint", () => folded.forEach((part) => { part.open = false; }));
