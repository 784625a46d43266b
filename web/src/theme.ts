// SPDX-License-Identifier: Apache-2.0
//
// Dark and light. The colours live in style.css as custom properties; what is drawn on canvas reads
// them here, once per change.
import { Change } from "./report.ts";
import type { State } from "./state.ts";

const kNames = [
  "bg",
  "surface",
  "raised",
  "line",
  "ink",
  "ink-2",
  "ink-3",
  "accent",
  "accent-soft",
  "fail",
  "fail-soft",
  "fail-ink",
  "near",
  "near-soft",
  "near-ink",
  "pass",
  "pass-soft",
  "pass-ink",
  "none",
  "none-soft",
  "none-ink",
  "fixed",
  "fixed-soft",
  "target",
  "golden",
  "edge",
] as const;
export type Palette = Record<(typeof kNames)[number], string>;

let cached: Palette | null = null;

export function palette(): Palette {
  if (cached) return cached;
  const style = getComputedStyle(document.documentElement);
  cached = Object.fromEntries(kNames.map((name) => [name, style.getPropertyValue(`--${name}`).trim()])) as Palette;
  return cached;
}

// Calls `changed` whenever colours are other ones than before.
export function watchTheme(state: State, changed: () => void): void {
  const system = matchMedia("(prefers-color-scheme: dark)");
  const apply = () => {
    const theme = state.view.theme || (system.matches ? "dark" : "light");
    if (document.documentElement.dataset.theme === theme) return;
    document.documentElement.dataset.theme = theme;
    cached = null;
    changed();
  };
  system.addEventListener("change", apply);
  state.listen((keys) => keys.has("theme") && apply());
  // Paper is white.
  const print = (on: boolean) => {
    document.documentElement.dataset.theme = on ? "light" : "";
    cached = null;
    if (on) changed();
    else apply();
  };
  addEventListener("beforeprint", () => print(true));
  addEventListener("afterprint", () => print(false));
  apply();
}

export function isDark(): boolean {
  return document.documentElement.dataset.theme === "dark";
}

export function toggleTheme(state: State): void {
  state.set({ theme: isDark() ? "light" : "dark" });
}

// How a change against the baseline shows.
export function changePaint(change: number): string {
  const c = palette();
  return change === Change.broken
    ? c.fail
    : change === Change.fixed
      ? c.fixed
      : change === Change.new
        ? c.golden
        : c.none;
}

// Grey lines at an angle, for what was not compared: seen without any colour.
const hatches = new Map<string, CanvasPattern>();
export function hatch(context: CanvasRenderingContext2D, back: string, line: string): CanvasPattern {
  const key = `${back}|${line}`;
  let pattern = hatches.get(key);
  if (!pattern) {
    const tile = document.createElement("canvas");
    tile.width = tile.height = 8;
    const c = tile.getContext("2d")!;
    c.fillStyle = back;
    c.fillRect(0, 0, 8, 8);
    c.strokeStyle = line;
    c.lineWidth = 1.5;
    c.beginPath();
    for (const shift of [-8, 0, 8]) {
      c.moveTo(shift, 8);
      c.lineTo(shift + 8, 0);
    }
    c.stroke();
    pattern = context.createPattern(tile, "repeat")!;
    hatches.set(key, pattern);
  }
  return pattern;
}
