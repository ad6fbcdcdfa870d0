// Stored values → what is shown: a canvas, by level and window.

const KEPT = 100; // of the pixels that differ, counted by how much, every so manieth is shown white

// Level and window are parts of the range from `low` to `high`: 0.5 and 1 show it as it came.
function table(view, { level, width }) {
  const made = new Uint8ClampedArray(view.bits === 8 ? 256 : 65536);
  const range = Math.max(view.high - view.low, 1);
  for (let value = 0; value < made.length; value++) {
    made[value] = 255 * (((value - view.low) / range - level) / width + 0.5);
  }
  return made;
}

// A canvas of the view's own size.
export function windowed(view, window) {
  const canvas = new OffscreenCanvas(view.width, view.height);
  const context = canvas.getContext("2d", { willReadFrequently: true });
  const image = context.createImageData(view.width, view.height);
  const { values, channels } = view;
  const of = table(view, window);
  const green = channels === 3 ? 1 : 0;
  for (let from = 0, to = 0; to < image.data.length; from += channels, to += 4) {
    image.data[to] = of[values[from]];
    image.data[to + 1] = of[values[from + green]];
    image.data[to + 2] = of[values[from + 2 * green]];
    image.data[to + 3] = 255;
  }
  context.putImageData(image, 0, 0);
  return canvas;
}

// How much two canvases differ, as large as the second, and how many times it is shown.
export function difference(input, output) {
  const { width, height } = output;
  const canvas = new OffscreenCanvas(width, height);
  const context = canvas.getContext("2d", { willReadFrequently: true });
  context.drawImage(input, 0, 0, width, height);
  const image = context.getImageData(0, 0, width, height);
  const other = output.getContext("2d").getImageData(0, 0, width, height).data;
  const data = image.data;
  const counts = new Uint32Array(256);
  for (let at = 0; at < data.length; at += 4) {
    let most = 0;
    for (let channel = 0; channel < 3; channel++) {
      most = Math.max(most, Math.abs(data[at + channel] - other[at + channel]));
    }
    data[at] = most;
    counts[most]++;
  }
  const gain = 255 / brightest(counts);
  for (let at = 0; at < data.length; at += 4) {
    const shade = gain * data[at];
    data[at] = shade;
    data[at + 1] = 0.8 * shade;
    data[at + 2] = 0.35 * shade;
  }
  context.putImageData(image, 0, 0);
  return { canvas, gain };
}

function brightest(counts) {
  let rest = counts.slice(1).reduce((sum, count) => sum + count, 0) / KEPT;
  for (let value = 255; value > 1; value--) {
    rest -= counts[value];
    if (rest <= 0) return value;
  }
  return 1;
}
