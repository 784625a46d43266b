// SPDX-License-Identifier: Apache-2.0
//
// The scrubbers: one for steps (tokens, samples) and one for ranks, each with a strip that shows the
// worst verdict of every slice. The layout of the graph does not move when the slice does.
import { h, sized } from "./dom.ts";
import type { Model } from "./model.ts";
import { Mark, worse } from "./report.ts";
import { clean, shorten } from "./text.ts";
import { hatch, palette } from "./theme.ts";

interface Scrubber {
  update(): void;
}

export function drawScrubbers(place: HTMLElement, model: Model): Scrubber {
  const { head } = model.report;
  const samples = head.samples ?? [];
  const scrubbers: Scrubber[] = [];
  const stepWord = samples.length > 0 ? "sample" : /torchair|ge-vs-fx|token/.test(head.run.scenario) ? "token" : "step";
  if (model.steps.length > 1)
    scrubbers.push(
      scrubber(place, model, "step", stepWord, model.steps, (v) =>
        shorten(clean(samples[v] ?? `${stepWord} ${v}`), 28),
      ),
    );
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
    drawStrip(strip, worstBy(model, key, values), at);
  };
  new ResizeObserver(update).observe(strip.parentElement!);
  return { update };
}

function worstBy(model: Model, key: "step" | "rank", values: number[]): Uint8Array {
  const places = new Map(values.map((value, i) => [value, i]));
  const worst = new Uint8Array(values.length).fill(Mark.unknown);
  const column = model.report[key];
  for (let row = 0; row < model.report.rows; row++) {
    const i = places.get(column[row]);
    if (i !== undefined && worse(model.marks[row], worst[i])) worst[i] = model.marks[row];
  }
  return worst;
}

// Cell i stands under the thumb at value i; the place of "all" at the left stays empty.
function drawStrip(canvas: HTMLCanvasElement, worst: Uint8Array, now: number): void {
  const width = canvas.parentElement!.clientWidth;
  const context = sized(canvas, width, 8);
  const colours = palette();
  context.clearRect(0, 0, width, 8);
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
  for (let i = 0; i < worst.length; i++) {
    const x = thumb / 2 + (i + 1) * pitch;
    const fail = worst[i] === Mark.fail;
    context.fillStyle = paint[worst[i]];
    context.fillRect(x - pitch * 0.45, fail ? 0 : 3, Math.max(1, pitch * 0.9), fail ? 8 : 4);
    if (i === now) {
      context.fillStyle = colours.ink;
      context.fillRect(x - pitch * 0.45, 7, Math.max(1, pitch * 0.9), 1);
    }
  }
}
