// SPDX-License-Identifier: Apache-2.0
//
// Small drawings of one tensor: histograms of both sides over each other, error by channel, and a map
// of where the error is.
import { bytesFromBase64, type Details } from "./data.ts";
import { h, sized } from "./dom.ts";
import { number } from "./text.ts";
import { isDark, palette } from "./theme.ts";

const widthOf = (place: HTMLElement) => Math.max(200, (place.clientWidth || 340) - 32);

// Golden as an area, the target as a line: told apart without colour. Counts on a log scale, so that
// tails show.
export function histogram(place: HTMLElement, data: NonNullable<Details["histogram"]>): HTMLElement {
  const [width, height] = [widthOf(place), 96];
  const canvas = h("canvas", {
    role: "img",
    "aria-label": `histograms of both sides from ${number(data.low)} to ${number(data.high)}`,
  });
  const ctx = sized(canvas, width, height);
  const c = palette();
  const most = Math.log1p(Math.max(1, ...data.target, ...data.golden));
  const top = (count: number) => height - 1 - (Math.log1p(count) / most) * (height - 6);
  const step = (counts: number[], close: boolean) => {
    const w = width / counts.length;
    ctx.beginPath();
    ctx.moveTo(0, height);
    counts.forEach((count, i) => {
      ctx.lineTo(i * w, top(count));
      ctx.lineTo((i + 1) * w, top(count));
    });
    ctx.lineTo(width, height);
    if (close) ctx.closePath();
  };
  step(data.golden, true);
  ctx.fillStyle = c.golden;
  ctx.globalAlpha = 0.55;
  ctx.fill();
  ctx.globalAlpha = 1;
  step(data.target, false);
  ctx.strokeStyle = c.target;
  ctx.lineWidth = 1.8;
  ctx.stroke();
  axis(ctx, width, height);
  return h(
    "figure",
    {},
    canvas,
    h(
      "figcaption",
      {},
      h("span", {}, number(data.low)),
      h(
        "span",
        {},
        h("i", { class: "swatch target" }),
        "target ",
        h("i", { class: "swatch golden" }),
        "golden, log counts",
      ),
      h("span", {}, number(data.high)),
    ),
  );
}

function axis(ctx: CanvasRenderingContext2D, width: number, height: number): void {
  ctx.fillStyle = palette().line;
  ctx.fillRect(0, height - 1, width, 1);
}

// Error of each channel relative to golden there; the worst is named.
export function channels(place: HTMLElement, data: NonNullable<Details["channels"]>): HTMLElement {
  const [width, height] = [widthOf(place), 72];
  const shares = data.error.map((error, i) => {
    const golden = data.golden[i];
    if (error === null || golden === null) return NaN;
    return golden > 0 ? error / golden : error > 0 ? Infinity : 0;
  });
  const finite = shares.filter((share) => Number.isFinite(share) && share > 0);
  const [low, high] = finite.length > 0 ? [Math.min(...finite), Math.max(...finite)] : [1e-6, 1];
  const base = Math.log10(low) - 0.3;
  const span = Math.max(0.5, Math.log10(high) - base);
  const worst = shares.reduce((best, share, i) => (share > (shares[best] || 0) ? i : best), 0);
  const canvas = h("canvas", {
    role: "img",
    "aria-label": `error by ${shares.length} groups of channels, worst ${worst * data.each}`,
  });
  const ctx = sized(canvas, width, height);
  const c = palette();
  const w = width / shares.length;
  shares.forEach((share, i) => {
    if (!(share > 0)) return;
    const tall = Number.isFinite(share) ? ((Math.log10(share) - base) / span) * (height - 4) : height - 2;
    ctx.fillStyle = i === worst ? c.fail : c.target;
    ctx.globalAlpha = i === worst ? 1 : 0.6;
    ctx.fillRect(i * w, height - Math.max(1, tall), Math.max(1, w - (w > 4 ? 1 : 0)), Math.max(1, tall));
  });
  ctx.globalAlpha = 1;
  axis(ctx, width, height);
  const name =
    data.each > 1
      ? `channels ${worst * data.each}–${Math.min(data.size, (worst + 1) * data.each) - 1}`
      : `channel ${worst}`;
  return h(
    "figure",
    {},
    canvas,
    h(
      "figcaption",
      {},
      h("span", {}, `axis ${data.axis}, ${data.size} channels, log scale`),
      h("span", {}, `worst: ${name}, relative error ${number(shares[worst])}`),
    ),
  );
}

// From nothing over blue and violet to bright: brighter (in dark: lighter) is always more error.
export function heatColour(level: number, dark: boolean): [number, number, number] {
  const stops = dark
    ? [
        [22, 27, 34],
        [40, 38, 92],
        [130, 30, 110],
        [226, 66, 66],
        [255, 220, 130],
      ]
    : [
        [244, 246, 249],
        [196, 210, 240],
        [140, 120, 200],
        [190, 40, 90],
        [70, 8, 20],
      ];
  const t = Math.min(1, Math.max(0, level / 63)) * (stops.length - 1);
  const i = Math.min(stops.length - 2, Math.floor(t));
  const mix = (k: number) => Math.round(stops[i][k] + (stops[i + 1][k] - stops[i][k]) * (t - i));
  return [mix(0), mix(1), mix(2)];
}

export function heatMap(place: HTMLElement, data: NonNullable<Details["heat"]>): HTMLElement {
  const levels = bytesFromBase64(data.levels);
  const small = document.createElement("canvas");
  small.width = data.columns;
  small.height = data.rows;
  const image = new ImageData(data.columns, data.rows);
  for (let i = 0; i < data.rows * data.columns; i++)
    image.data.set([...heatColour(levels[i] ?? 0, isDark()), 255], 4 * i);
  small.getContext("2d")!.putImageData(image, 0, 0);
  const width = widthOf(place);
  const height = Math.max(24, Math.min(200, (width * data.rows) / data.columns));
  const canvas = h("canvas", {
    id: "heat",
    role: "img",
    "aria-label": `map of the error, largest ${number(data.largest)}`,
  });
  const ctx = sized(canvas, width, height);
  ctx.imageSmoothingEnabled = false;
  ctx.drawImage(small, 0, 0, width, height);
  const ramp = h("canvas", { "aria-hidden": "true" });
  const rampContext = sized(ramp, width, 6);
  for (let x = 0; x < width; x++) {
    rampContext.fillStyle = `rgb(${heatColour((63 * x) / width, isDark()).join(",")})`;
    rampContext.fillRect(x, 0, 1, 6);
  }
  return h(
    "figure",
    {},
    canvas,
    ramp,
    h(
      "figcaption",
      {},
      h("span", {}, "none"),
      h("span", {}, `${data.rows} × ${data.columns} cells, each its largest |error|, log scale`),
      h("span", {}, number(data.largest)),
    ),
  );
}

export function worstElements(data: NonNullable<Details["worst"]>): HTMLElement {
  const value = (v: number | string) => (typeof v === "number" ? number(v) : String(v));
  const difference = (t: number | string, g: number | string) =>
    typeof t === "number" && typeof g === "number" ? number(t - g) : "–";
  return h(
    "table",
    { class: "worst" },
    h(
      "thead",
      {},
      h(
        "tr",
        {},
        h("th", {}, "index"),
        h("th", { class: "num" }, "target"),
        h("th", { class: "num" }, "golden"),
        h("th", { class: "num" }, "difference"),
      ),
    ),
    h(
      "tbody",
      {},
      ...data.map(({ index, target, golden }) =>
        h(
          "tr",
          {},
          h("td", {}, `[${index.join(", ")}]`),
          h("td", { class: "num" }, value(target)),
          h("td", { class: "num" }, value(golden)),
          h("td", { class: "num" }, difference(target, golden)),
        ),
      ),
    ),
  );
}
