// SPDX-License-Identifier: Apache-2.0
//
// The scrubbers: one for steps (tokens, samples) and one for ranks, each with a strip that shows the
// worst verdict of every slice, and by its height the largest error. The layout of the graph does not move when the slice does.
import { h, sized } from "./dom.ts";
import type { Model } from "./model.ts";
import { Mark, worse } from "./report.ts";
import { stepName, stepWord } from "./slices.ts";
import { hatch, palette } from "./theme.ts";

const kStrip = 12; // height, as in style.css

interface Scrubber {
  update(): void;
}

export function drawScrubbers(place: HTMLElement, model: Model): Scrubber {
  const { report } = model;
  const scrubbers: Scrubber[] = [];
  if (model.steps.length > 1)
    scrubbers.push(scrubber(place, model, "step", stepWord(report), model.steps, (v) => stepName(report, v)));
  if (model.ranks.length > 1) scrubbers.push(scrubber(place, model, "rank", "rank", model.ranks, (v) => `rank ${v}`));
  return { update: () => scrubbers.forEach((each) => each.update()) };
}

function scrubber(
  place: HTMLElement,
  model: Model,
  key: "step" | "rank",
  word: string,
  values: number[],
  label: (value: number) => string,
): Scrubber {
  const id = `scrub-${key}`;
  const range = h("input", {
    type: "range",
    id,
    min: -1,
    max: values.length - 1,
    step: 1,
    title: key === "step" ? "[ and ] move it" : "{ and } move it",
  });
  const strip = h("canvas", { "aria-hidden": "true" });
  const output = h("output", { for: id });
  const go = (by: number) => {
    const next = Math.min(values.length - 1, Math.max(-1, Number(range.value) + by));
    model.state.set({ [key]: next < 0 ? null : values[next] });
  };
  range.addEventListener("input", () => go(0));
  place.append(
    h(
      "div",
      { class: "scrub" },
      h("label", { for: id }, word),
      h("button", { type: "button", "aria-label": `previous ${word}`, onclick: () => go(-1) }, "◀"),
      h("div", { class: "strip" }, range, strip),
      h("button", { type: "button", "aria-label": `next ${word}`, onclick: () => go(1) }, "▶"),
      output,
    ),
  );
  const update = () => {
    const now = model.state.view[key];
    const at = now === null ? -1 : values.indexOf(now);
    range.value = String(at);
    const text = at < 0 ? `all ${values.length} ${word}s` : label(values[at]);
    range.setAttribute("aria-valuetext", text);
    output.textContent = text;
    output.title = text;
    drawStrip(strip, slicesBy(model, key, values), at);
  };
  new ResizeObserver(update).observe(strip.parentElement!);
  return { update };
}

interface Slices {
  worst: Uint8Array; // marks
  error: Float64Array; // largest, 0 if none is known
}

// What was left out on purpose says nothing of a slice.
function slicesBy(model: Model, key: "step" | "rank", values: number[]): Slices {
  const places = new Map(values.map((value, i) => [value, i]));
  const worst = new Uint8Array(values.length).fill(Mark.unknown);
  const error = new Float64Array(values.length);
  const { report, marks } = model;
  for (let row = 0; row < report.rows; row++) {
    const i = places.get(report[key][row]);
    if (i === undefined || report.excused[row]) continue;
    if (worse(marks[row], worst[i])) worst[i] = marks[row];
    if (model.error[row] > error[i]) error[i] = model.error[row];
  }
  return { worst, error };
}

// Heights from 0 to 1 on a log scale, so that the slice in which the error is stands out; all the same if they are alike.
export function heightsOf(error: Float64Array): Float64Array {
  const known = error.filter((value) => value > 0 && Number.isFinite(value));
  const [low, high] = [Math.min(...known), Math.max(...known)];
  return error.map((value) => {
    if (value === Infinity) return 1;
    if (!(value > 0)) return 0;
    return high < 3 * low ? 1 : Math.log(value / low) / Math.log(high / low);
  });
}

// Cell i stands under the thumb at value i; at the left is the place of "all", as a word or as an empty cell.
function drawStrip(canvas: HTMLCanvasElement, { worst, error }: Slices, now: number): void {
  const width = canvas.parentElement!.clientWidth;
  const context = sized(canvas, width, kStrip);
  const colours = palette();
  const heights = heightsOf(error);
  context.clearRect(0, 0, width, kStrip);
  const thumb = 16;
  const pitch = (width - thumb) / worst.length;
  const paint = [
    colours.pass,
    colours.near,
    colours.fail,
    colours.near,
    hatch(context, colours["none-soft"], colours.none),
    colours["none-soft"],
  ];
  context.fillStyle = now < 0 ? colours.ink : colours["ink-3"];
  context.font = "600 10px system-ui, sans-serif";
  context.textBaseline = "bottom";
  if (pitch >= 26) context.fillText("all", 1, kStrip + 1);
  else context.fillRect(thumb / 2 - pitch * 0.45, kStrip - 2, Math.max(2, pitch * 0.9), 2);
  for (let i = 0; i < worst.length; i++) {
    const x = thumb / 2 + (i + 1) * pitch;
    const fail = worst[i] === Mark.fail;
    const tall = (fail ? 4 : 3) + (kStrip - 4) * heights[i] * (fail ? 1 : 0.5);
    context.fillStyle = paint[worst[i]];
    context.fillRect(x - pitch * 0.45, kStrip - tall, Math.max(1, pitch * 0.9), tall);
    if (i === now) {
      context.fillStyle = colours.ink;
      context.fillRect(x - pitch * 0.45, kStrip - 2, Math.max(1, pitch * 0.9), 2);
    }
  }
}
