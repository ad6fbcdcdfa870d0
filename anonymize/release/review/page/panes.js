// Canvases side by side that show the same place at the same size; boxes and arrows above them.

const NEAREST = 2; // from this size of a pixel on, pixels are shown as squares
const TEXT = "#ffb000";
const ARROW = "#5ad1ff";

export class Panes {
  // `canvases` are those of the page; pictures are told by `set`.
  constructor(canvases) {
    this.panes = canvases.map((canvas) => ({ canvas, picture: null, overlays: [] }));
    this.fit();
    for (const { canvas } of this.panes) this.#listen(canvas);
    const observer = new ResizeObserver(() => this.draw());
    for (const { canvas } of this.panes) observer.observe(canvas);
  }

  set(place, picture, overlays = []) {
    Object.assign(this.panes[place], { picture, overlays });
  }

  fit() {
    Object.assign(this, { zoom: 1, x: 0.5, y: 0.5 });
  }

  // Between the whole picture and one pixel of the file a pixel of the screen, or four where the
  // whole is larger already.
  toggle() {
    const { canvas, picture } = this.panes.find((pane) => pane.picture) ?? {};
    if (!picture) return;
    const whole = Math.min(canvas.width / picture.width, canvas.height / picture.height);
    if (this.zoom === 1) this.zoom = whole < 0.9 ? 1 / whole : 4;
    else this.fit();
    this.draw();
  }

  draw() {
    cancelAnimationFrame(this.frame);
    this.frame = requestAnimationFrame(() => this.panes.forEach((pane) => this.#paint(pane)));
  }

  #paint({ canvas, picture, overlays }) {
    const ratio = devicePixelRatio || 1;
    canvas.width = Math.round(canvas.clientWidth * ratio);
    canvas.height = Math.round(canvas.clientHeight * ratio);
    const context = canvas.getContext("2d");
    if (!picture) return;
    const whole = Math.min(canvas.width / picture.width, canvas.height / picture.height);
    const scale = whole * this.zoom;
    const left = canvas.width / 2 - this.x * picture.width * scale;
    const top = canvas.height / 2 - this.y * picture.height * scale;
    context.imageSmoothingEnabled = scale < NEAREST;
    context.imageSmoothingQuality = "high";
    context.drawImage(picture, left, top, picture.width * scale, picture.height * scale);
    const at = (x, y) => [left + x * picture.width * scale, top + y * picture.height * scale];
    for (const overlay of overlays) overlay(context, at, ratio);
  }

  #listen(canvas) {
    canvas.addEventListener("wheel", (event) => {
      event.preventDefault();
      this.#zoomAt(canvas, event, Math.exp(-event.deltaY / 400));
    }, { passive: false });
    canvas.addEventListener("pointerdown", (event) => canvas.setPointerCapture(event.pointerId));
    canvas.addEventListener("pointermove", (event) => {
      if (canvas.hasPointerCapture(event.pointerId)) this.#move(canvas, event);
    });
    canvas.addEventListener("dblclick", () => { this.fit(); this.draw(); });
  }

  #size(canvas) {
    const { picture } = this.panes.find((pane) => pane.canvas === canvas);
    if (!picture) return null;
    const { clientWidth, clientHeight } = canvas;
    const whole = Math.min(clientWidth / picture.width, clientHeight / picture.height);
    return [picture.width * whole * this.zoom, picture.height * whole * this.zoom];
  }

  // The place under the pointer stays where it is.
  #zoomAt(canvas, event, times) {
    const before = this.#size(canvas);
    if (!before) return;
    const [right, down] = [
      event.offsetX - canvas.clientWidth / 2,
      event.offsetY - canvas.clientHeight / 2,
    ];
    this.zoom = Math.min(Math.max(this.zoom * times, 1), 64);
    const after = this.#size(canvas);
    this.x += right / before[0] - right / after[0];
    this.y += down / before[1] - down / after[1];
    this.#keepInside();
  }

  #move(canvas, event) {
    const size = this.#size(canvas);
    if (!size) return;
    this.x -= event.movementX / size[0];
    this.y -= event.movementY / size[1];
    this.#keepInside();
  }

  #keepInside() {
    if (this.zoom === 1) this.fit();
    this.x = Math.min(Math.max(this.x, 0), 1);
    this.y = Math.min(Math.max(this.y, 0), 1);
    this.draw();
  }
}

// Frames around `boxes`, [x, y, width, height] in pixels of a file of `width` and `height`.
export function framed(boxes, { width, height }) {
  return (context, at, ratio) => {
    context.strokeStyle = TEXT;
    context.lineWidth = 2 * ratio;
    for (const [x, y, w, h] of boxes) {
      const [left, top] = at(x / width, y / height);
      const [right, bottom] = at((x + w) / width, (y + h) / height);
      const gap = 3 * ratio;
      context.strokeRect(left - gap, top - gap, right - left + 2 * gap, bottom - top + 2 * gap);
    }
  };
}

// An arrow a part of the picture to where its pixels were taken from; the longest fills its part.
export function arrows({ columns, right, down }) {
  const rows = right.length / columns;
  const longest = Math.max(...right.map((x, place) => Math.hypot(x, down[place])), 1e-9);
  return (context, at, ratio) => {
    context.strokeStyle = context.fillStyle = ARROW;
    context.lineWidth = 1.5 * ratio;
    right.forEach((x, place) => {
      const [row, column] = [Math.floor(place / columns), place % columns];
      const from = at((column + 0.5) / columns, (row + 0.5) / rows);
      const [left, top] = at(0, 0);
      const [far, low] = at(1 / columns, 1 / rows);
      const times = (0.9 * Math.min(far - left, low - top)) / longest;
      const to = [from[0] + times * x, from[1] + times * down[place]];
      const [dx, dy] = [to[0] - from[0], to[1] - from[1]];
      context.beginPath();
      context.moveTo(...from);
      context.lineTo(...to);
      for (const side of [-1, 1]) {
        context.moveTo(...to);
        context.lineTo(to[0] - 0.3 * dx + side * 0.18 * dy, to[1] - 0.3 * dy - side * 0.18 * dx);
      }
      context.stroke();
    });
  };
}
