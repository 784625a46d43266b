// SPDX-License-Identifier: Apache-2.0
//
// Error along the network: one mark per row in order of execution, limits as lines that can be moved,
// drag to zoom, click to select.
import uPlot from "uplot";
import { h } from "./dom.ts";
import type { Model } from "./model.ts";
import { kMarks, Mark, Role } from "./report.ts";
import { onScale, plottable, type Line, type Series, seriesOf } from "./series.ts";
import { runsOf, slowPart, type Stretch, stretchesOf } from "./slices.ts";
import { clean, number, shorten } from "./text.ts";
import { changePaint, hatch, palette } from "./theme.ts";
import { culpritOf, metricLabel } from "./words.ts";

const kAxisWidth = 52;
const kAxisHeight = 20;
const kTier = 14; // of a second line of names under the axis
const kLetter = 6.6; // pixels of a letter there
const kNameWidth = 64; // pixels that an operator's name under the axis needs
const kPlotName = 110; // pixels between operators that are named in the plot
const kGutter = 104; // at the right, for the handles of limits
const kNarrow = 560; // a plot that has no room for it


export class Plot {
  private chart: uPlot | null = null;
  private series!: Series;
  private stretches: Stretch[] = [];
  private readonly tip = h("div", { class: "tip hidden", "aria-hidden": "true" });
  private places = new Map<number, number>(); // row → place
  private quietly = false;

  constructor(
    private readonly place: HTMLElement,
    private readonly model: Model,
    tools: HTMLElement,
  ) {
    const { state } = model;
    const choices = plottable(model);
    const select = h(
      "select",
      { id: "metric", "aria-label": "metric of the plot" },
      ...choices.map((name) => h("option", { value: name }, metricLabel(name))),
    );
    select.addEventListener("change", () => state.set({ metric: select.value }));
    const whole = h(
      "button",
      { type: "button", id: "unzoom", onclick: () => state.set({ zoom: null }) },
      "whole network",
    );
    tools.append(select, whole, h("span", { class: "hint push" }, "click to select, drag to zoom"));
    place.tabIndex = 0;
    place.setAttribute("role", "img");
    place.addEventListener("keydown", (event) => this.onKey(event));
    const sync = () => {
      select.classList.toggle("hidden", choices.length === 0 || model.report.rows === model.report.head.summary.not_compared);
      if (choices.length > 0) select.value = this.metric();
      whole.classList.toggle("hidden", state.view.zoom === null);
      tools.lastElementChild!.classList.toggle("hidden", choices.length === 0 || select.classList.contains("hidden"));
    };
    sync();
    state.listen((changed) => {
      sync();
      if (["metric", "step", "rank", "limits"].some((key) => changed.has(key as never))) this.rebuild();
      else if (changed.has("zoom")) this.zoom();
      else if (
        changed.has("op") ||
        changed.has("slot") ||
        changed.has("row") ||
        changed.has("diff") ||
        changed.has("q")
      )
        this.chart?.redraw(false);
    });
    new ResizeObserver(() => this.resize()).observe(place);
    this.rebuild();
  }

  // After a change of colours.
  repaint(): void {
    this.chart?.redraw(false);
    this.drawGrips();
  }

  // Where a row is drawn, in pixels of the plot; for tests and tools.
  positionOf(row: number): { x: number; y: number } | null {
    const i = this.places.get(row);
    if (i === undefined || !this.chart || !this.series.placed[i]) return null;
    const box = this.chart.over.getBoundingClientRect();
    return { x: box.left + this.chart.valToPos(i, "x"), y: box.top + this.chart.valToPos(this.series.values[i], "y") };
  }

  // Names of the slices along the axis; for tests.
  slices(): string[] {
    return this.stretches.map(({ label }) => label);
  }

  private metric(): string {
    const choices = plottable(this.model);
    const { metric } = this.model.state.view;
    return choices.includes(metric) ? metric : (choices[0] ?? "");
  }

  private rebuild(): void {
    this.chart?.destroy();
    this.chart = null;
    this.place.replaceChildren();
    const metric = this.metric();
    this.series = seriesOf(this.model, metric);
    this.stretches = stretchesOf(this.model, this.series.rows);
    this.places = new Map(Array.from(this.series.rows, (row, i) => [row, i]));
    const empty = metric === "" || !this.series.placed.includes(1);
    this.place.classList.toggle("none", empty);
    if (empty) {
      this.place.append(h("p", { class: "empty" }, "No number to draw: nothing was compared, or only by statistics."));
      this.place.setAttribute("aria-label", "error along the network: no numbers");
      return;
    }
    const xs = Float64Array.from(this.series.rows, (_, i) => i);
    this.chart = new uPlot(this.options(), [xs, this.series.values], this.place);
    this.place.append(this.tip);
    this.place.setAttribute("aria-label", this.summary());
    this.zoom();
    this.drawGrips();
  }

  private summary(): string {
    const { worst, rows, values, metric } = this.series;
    const name = worst >= 0 ? clean(shorten(this.model.report.name(rows[worst]), 80)) : "none";
    return `${metricLabel(metric)} of ${rows.length} tensors in order of execution; worst: ${name}${worst >= 0 ? `, ${number(values[worst])}` : ""}. Arrow keys move the selection.`;
  }

  private options(): uPlot.Options {
    const { low, high, log, rows, exact } = this.series;
    const decades = log ? Math.log10(high / low) : 0;
    const below = kAxisHeight + (this.isTiered() ? kTier : 0);
    const every = Math.max(1, Math.ceil((decades * 18) / Math.max(60, this.place.clientHeight - below - 10)));
    const isLabelled = (t: number) => !log || (isDecade(t) && Math.round(Math.log10(t)) % every === 0);
    const sliced = this.stretches.length > 1;
    const axis = {
      stroke: () => palette()["ink-3"],
      grid: { stroke: () => palette().line, width: 1, filter: (_u: uPlot, ticks: number[]) => ticks },
      ticks: { show: false },
      font: "11px system-ui, sans-serif",
    };
    return {
      width: this.place.clientWidth,
      height: this.place.clientHeight,
      padding: [10, () => this.gutter(), 0, 0],
      legend: { show: false },
      cursor: { drag: { x: true, y: false, dist: 6 }, points: { show: false }, x: true, y: false },
      scales: {
        x: { time: false, range: (_u, min, max) => [min, max] },
        y: { distr: log ? 3 : 1, range: [low, high] },
      },
      axes: [
        {
          ...axis,
          size: below,
          gap: 2,
          splits: (u, _axis, min, max) =>
            sliced ? this.stretches.slice(1).map(({ from }) => from - 0.5) : placesAlong(min, max, this.pitch(u)),
          values: (u, ticks) => ticks.map((t) => (sliced || t < 0 || t >= rows.length ? "" : this.placeName(u, t))),
        },
        {
          ...axis,
          grid: { ...axis.grid, filter: (_u, ticks) => ticks.map((t) => (log && !isDecade(t) ? null : t)) },
          size: kAxisWidth,
          gap: 4,
          filter: (_u, ticks) => ticks,
          values: (_u, ticks) =>
            ticks.map((t) => (t === null ? "" : exact && t <= low * 1.001 ? "0" : isLabelled(t) ? number(t) : "")),
        },
      ],
      series: [{}, { paths: () => null, points: { show: false } }],
      hooks: {
        draw: [(u) => this.draw(u)],
        setCursor: [(u) => this.hover(u)],
        setSelect: [(u) => this.brushed(u)],
        ready: [(u) => this.wire(u)],
      },
    };
  }

  // Room at the right for the handles of limits, so that they hide no mark.
  private gutter(): number {
    return this.series.lines.length > 0 && this.place.clientWidth >= kNarrow ? kGutter : 12;
  }

  // Both steps and ranks: their names stand in two lines.
  private isTiered(): boolean {
    return this.stretches.some(({ parts }) => parts.length > 1);
  }

  private pitch(u: uPlot): number {
    return Math.abs(u.valToPos(1, "x") - u.valToPos(0, "x"));
  }

  // Of few operators the names, of many their places in the order of execution.
  private placeName(u: uPlot, place: number): string {
    const room = this.pitch(u);
    if (room < kNameWidth) return String(place);
    return shorten(clean(this.model.report.name(this.series.rows[place])), Math.floor(room / kLetter) - 1);
  }

  private wire(u: uPlot): void {
    let down: [number, number] | null = null;
    u.over.addEventListener("pointerdown", (e) => (down = [e.clientX, e.clientY]));
    u.over.addEventListener("click", (e) => {
      if (!down || Math.hypot(e.clientX - down[0], e.clientY - down[1]) > 5) return;
      const i = this.nearest(u, e.offsetX, e.offsetY);
      if (i >= 0) this.model.select(this.series.rows[i]);
    });
    u.over.addEventListener("dblclick", () => this.model.state.set({ zoom: null }));
  }

  // Of the marks around the pointer the nearest one, worse ones first among those equally near.
  private nearest(u: uPlot, left: number, top: number): number {
    const { values, placed, rows } = this.series;
    const from = Math.max(0, Math.floor(u.posToVal(left - 12, "x")));
    const to = Math.min(rows.length - 1, Math.ceil(u.posToVal(left + 12, "x")));
    let best = -1;
    let least = Infinity;
    for (let i = from; i <= to; i++) {
      if (!placed[i]) continue;
      const far = Math.hypot(u.valToPos(i, "x") - left, (u.valToPos(values[i], "y") - top) * 0.7);
      const bonus = this.model.marks[rows[i]] === Mark.fail ? 3 : 0;
      if (far - bonus < least) [best, least] = [i, far - bonus];
    }
    return best;
  }

  private brushed(u: uPlot): void {
    if (this.quietly || u.select.width < 6) return;
    const from = u.posToVal(u.select.left, "x");
    const to = u.posToVal(u.select.left + u.select.width, "x");
    this.quietly = true;
    u.setSelect({ left: 0, width: 0, top: 0, height: 0 }, false);
    this.quietly = false;
    if (to - from >= 1)
      this.model.state.set({ zoom: [Math.max(-0.5, from), Math.min(this.series.rows.length - 0.5, to)] });
  }

  private zoom(): void {
    const n = this.series.rows.length;
    const zoom = this.model.state.view.zoom;
    const [min, max] = zoom && zoom[1] > zoom[0] ? zoom : [-0.5 - n * 0.004, n - 0.5 + n * 0.004];
    this.chart?.setScale("x", { min, max });
  }

  private hover(u: uPlot): void {
    const { left, top } = u.cursor;
    const i = left === undefined || top === undefined || left < 0 ? -1 : this.nearest(u, left, top);
    this.tip.classList.toggle("hidden", i < 0);
    if (i < 0) return;
    const row = this.series.rows[i];
    const { report } = this.model;
    const value = this.model.report.metric(this.series.metric === "one_minus_cosine" ? "cosine" : this.series.metric)[
      row
    ];
    const shown = Number.isNaN(value) ? report.reasons(row).join(", ") : number(onScale(this.series.metric, value));
    this.tip.textContent = `${kMarks[this.model.marks[row]].glyph} ${clean(shorten(report.name(row), 60))}  ${shown}`;
    const x = kAxisWidth + u.valToPos(i, "x");
    this.tip.style.top = "2px";
    this.tip.style.left = `${Math.max(4, Math.min(x + 10, this.place.clientWidth - this.tip.offsetWidth - 6))}px`;
  }

  resize(): void {
    if (!this.chart || this.place.clientWidth === 0) return;
    this.chart.setSize({ width: this.place.clientWidth, height: this.place.clientHeight });
    this.drawGrips();
  }

  private onKey(event: KeyboardEvent): void {
    const by = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
    if (by === 0 || event.target !== this.place) return;
    event.preventDefault();
    const now = this.places.get(this.model.selected()) ?? (by > 0 ? -1 : this.series.rows.length);
    const next = Math.min(this.series.rows.length - 1, Math.max(0, now + by));
    this.model.select(this.series.rows[next]);
  }

  private draw(u: uPlot): void {
    const { ctx, bbox } = u;
    const ratio = devicePixelRatio;
    ctx.save();
    ctx.beginPath();
    ctx.rect(bbox.left, bbox.top - 8 * ratio, bbox.width, bbox.height + 8 * ratio);
    ctx.clip();
    this.drawBad(u);
    this.drawLines(u, ratio);
    this.drawCurve(u, ratio);
    this.drawMarks(u, ratio);
    this.drawSelected(u, ratio);
    ctx.restore();
    if (this.stretches.length > 1) this.nameSlices(u, ratio);
  }

  // What lies beyond every limit is tinted.
  private drawBad(u: uPlot): void {
    const { lines, worseUp } = this.series;
    if (lines.length === 0) return;
    const { ctx, bbox } = u;
    const ends = lines.map(({ bound }) => u.valToPos(bound, "y", true));
    const from = worseUp ? bbox.top : Math.max(...ends);
    const to = worseUp ? Math.min(...ends) : bbox.top + bbox.height;
    ctx.globalAlpha = 0.06;
    ctx.fillStyle = palette().fail;
    ctx.fillRect(bbox.left, from, bbox.width, Math.max(0, to - from));
    ctx.globalAlpha = 1;
  }

  // From tensor to tensor of one slice. It leaves out what has no error: constants between operators would tear it to
  // the ground.
  private drawCurve(u: uPlot, ratio: number): void {
    const { ctx } = u;
    const { values, placed, exact, low } = this.series;
    const [from, to] = [Math.floor(u.scales.x.min!) - 1, Math.ceil(u.scales.x.max!) + 1];
    ctx.strokeStyle = palette().edge;
    ctx.lineWidth = ratio;
    ctx.beginPath();
    for (const stretch of this.stretches) {
      let isFirst = true;
      for (let i = Math.max(from, stretch.from); i <= Math.min(to, stretch.to); i++) {
        if (!placed[i] || (exact && values[i] === low)) continue;
        const [x, y] = [u.valToPos(i, "x", true), u.valToPos(values[i], "y", true)];
        if (isFirst) ctx.moveTo(x, y);
        else ctx.lineTo(x, y);
        isFirst = false;
      }
    }
    ctx.stroke();
  }

  // What stands under the axis where there are several slices; names that do not fit are left out.
  private nameSlices(u: uPlot, ratio: number): void {
    const { ctx, bbox } = u;
    ctx.font = `${11 * ratio}px system-ui, sans-serif`;
    ctx.fillStyle = palette()["ink-3"];
    ctx.textAlign = "center";
    ctx.textBaseline = "middle";
    const bottom = bbox.top + bbox.height + (kAxisHeight * ratio) / 2;
    const write = (texts: string[], from: number, to: number, y: number) => {
      const left = Math.max(bbox.left, u.valToPos(from - 0.5, "x", true));
      const right = Math.min(bbox.left + bbox.width, u.valToPos(to + 0.5, "x", true));
      const fits = (text: string) => ctx.measureText(text).width + 6 * ratio < right - left;
      const text = texts.find(fits);
      if (text !== undefined) ctx.fillText(text, (left + right) / 2, y);
    };
    const slow = slowPart(this.stretches);
    const fast = this.isTiered() ? 1 - slow : 0;
    for (const { from, to, parts } of this.stretches) {
      const [word, ...rest] = (parts[fast] ?? "").split(" "); // "token 3", "sample cat.jpg"
      const name = rest.join(" ");
      const short = Array.from({ length: 3 }, (_, i) => shorten(name, 14 - 4 * i));
      write([`${word} ${name}`, name, ...short], from, to, bottom);
    }
    if (!this.isTiered()) return;
    for (const { from, to, text } of runsOf(this.stretches, slow)) write([text], from, to, bottom + kTier * ratio);
  }

  private drawLines(u: uPlot, ratio: number): void {
    const { ctx, bbox } = u;
    ctx.strokeStyle = palette().near;
    ctx.lineWidth = 1.5 * ratio;
    for (const line of this.series.lines) {
      ctx.setLineDash(this.model.moved.has(line.key) ? [3 * ratio, 4 * ratio] : [7 * ratio, 4 * ratio]);
      const y = u.valToPos(line.bound, "y", true);
      ctx.beginPath();
      ctx.moveTo(bbox.left, y);
      ctx.lineTo(bbox.left + bbox.width, y);
      ctx.stroke();
    }
    ctx.setLineDash([]);
  }

  // Passing rows first, then what matters more on top, larger.
  private drawMarks(u: uPlot, ratio: number): void {
    const { ctx } = u;
    const { rows, values, placed } = this.series;
    const { marks, report, state } = this.model;
    const c = palette();
    const dense = rows.length > 600 ? 0.65 : 1;
    const paint = [c.pass, c.near, c.fail, c.near, hatch(ctx, c["none-soft"], c.none), c.none];
    const from = Math.max(0, Math.floor(u.scales.x.min!));
    const to = Math.min(rows.length - 1, Math.ceil(u.scales.x.max!));
    for (const mark of [Mark.absent, Mark.pass, Mark.open, Mark.near, Mark.fail]) {
      ctx.fillStyle = ctx.strokeStyle = paint[mark];
      for (let i = from; i <= to; i++) {
        if (!placed[i] || marks[rows[i]] !== mark) continue;
        const x = u.valToPos(i, "x", true);
        const y = u.valToPos(values[i], "y", true);
        const row = rows[i];
        if (state.view.diff) ctx.fillStyle = ctx.strokeStyle = changePaint(report.change[row]);
        const heir = mark === Mark.fail && !this.model.standsOut(report.role[row]);
        ctx.globalAlpha = heir ? 0.5 : 1;
        if (mark === Mark.fail) cross(ctx, x, y, (heir ? 3 : 4.2) * ratio * dense, ratio * (heir ? 1.4 : 2.2));
        else if (mark === Mark.near || mark === Mark.open) triangle(ctx, x, y, 4 * ratio * dense);
        else dot(ctx, x, y, 1.9 * ratio * dense);
      }
    }
    ctx.globalAlpha = 1;
    this.nameOperators(u, from, to, ratio);
  }

  // The culprit and others of the findings, or what adds most, and the worst.
  private nameOperators(u: uPlot, from: number, to: number, ratio: number): void {
    const { rows, worst } = this.series;
    const { report } = this.model;
    const c = palette();
    const blamed = this.blamed();
    const isNear = (i: number) => Math.abs(u.valToPos(i, "x") - u.valToPos(worst, "x")) < 26;
    if (worst >= from && worst <= to && !blamed.some(isNear)) this.label(u, worst, "worst", c["ink-2"], ratio);
    const culprit = culpritOf(report.head)?.operator;
    for (const i of blamed) {
      if (i < from || i > to) continue;
      const isCulprit = report.name(rows[i]) === culprit;
      // Others by their number in the list of findings, or small.
      const finding = report.head.findings.findIndex(({ operator }) => operator === report.name(rows[i]));
      this.label(u, i, isCulprit ? "▼" : finding < 0 ? "▾" : `${finding + 1}▾`, c.fail, ratio);
      if (isCulprit) this.nameBeside(u, i, shorten(clean(culprit), 30), ratio);
    }
    if (blamed.length > 0) return;
    const named = worst < 0 ? [] : [worst];
    for (const i of this.contributors()) {
      if (i < from || i > to) continue;
      this.label(u, i, "▾", c["ink-2"], ratio);
      // Names only where they do not cover each other.
      if (named.some((other) => Math.abs(u.valToPos(i, "x") - u.valToPos(other, "x")) < kPlotName)) continue;
      named.push(i);
      this.nameBeside(u, i, shorten(clean(report.name(rows[i])), 14), ratio, c["ink-2"]);
    }
  }

  // Where no single operator is to blame: those that the first finding names.
  private contributors(): number[] {
    const named = this.model.report.head.findings[0]?.evidence ?? [];
    return named
      .map(({ row }) => (typeof row === "number" ? this.places.get(row) : undefined))
      .filter((i): i is number => i !== undefined && this.series.placed[i] === 1);
  }

  // Where each operator of a finding is worst: of its steps and ranks one.
  private blamed(): number[] {
    const { rows, values, placed, worseUp } = this.series;
    const { marks, report } = this.model;
    const places = new Map<string, number>();
    rows.forEach((row, i) => {
      if (!placed[i] || report.role[row] !== Role.introduces || marks[row] === Mark.pass) return;
      const before = places.get(report.name(row));
      if (before === undefined || (worseUp ? values[i] > values[before] : values[i] < values[before]))
        places.set(report.name(row), i);
    });
    return [...places.values()];
  }

  private label(u: uPlot, i: number, text: string, colour: string, ratio: number): void {
    const { ctx, bbox } = u;
    const x = u.valToPos(i, "x", true);
    const y = u.valToPos(this.series.values[i], "y", true);
    ctx.font = `600 ${11 * ratio}px system-ui, sans-serif`;
    ctx.fillStyle = colour;
    ctx.textBaseline = "middle";
    const wide = ctx.measureText(text).width;
    ctx.textAlign = "center";
    const left = Math.min(bbox.left + bbox.width - wide / 2, Math.max(bbox.left + wide / 2, x));
    this.write(ctx, text, left, labelTop(bbox, y, ratio), ratio);
  }

  // The operator to blame, at the left of its arrow: errors are small there. At the right where it would be cut.
  private nameBeside(u: uPlot, i: number, text: string, ratio: number, colour = palette()["fail-ink"]): void {
    const { ctx, bbox } = u;
    const x = u.valToPos(i, "x", true);
    ctx.font = `650 ${11.5 * ratio}px ui-monospace, Menlo, Consolas, DejaVu Sans Mono, monospace`;
    ctx.fillStyle = colour;
    const gap = 9 * ratio;
    const isCut = x - gap - ctx.measureText(text).width < bbox.left;
    ctx.textAlign = isCut ? "left" : "right";
    const y = labelTop(bbox, u.valToPos(this.series.values[i], "y", true), ratio);
    this.write(ctx, text, x + (isCut ? gap : -gap), y, ratio);
  }

  // With a rim of the ground's colour, so that it can be read over lines.
  private write(ctx: CanvasRenderingContext2D, text: string, x: number, y: number, ratio: number): void {
    ctx.lineWidth = 4 * ratio;
    ctx.strokeStyle = palette().surface;
    ctx.strokeText(text, x, y);
    ctx.fillText(text, x, y);
  }

  private drawSelected(u: uPlot, ratio: number): void {
    const i = this.places.get(this.model.selected());
    if (i === undefined) return;
    const { ctx, bbox } = u;
    const x = u.valToPos(i, "x", true);
    ctx.strokeStyle = palette().accent;
    ctx.lineWidth = 1.5 * ratio;
    ctx.beginPath();
    ctx.moveTo(x, bbox.top);
    ctx.lineTo(x, bbox.top + bbox.height);
    ctx.stroke();
    if (!this.series.placed[i]) return;
    ctx.lineWidth = 2.5 * ratio;
    ctx.beginPath();
    ctx.arc(x, u.valToPos(this.series.values[i], "y", true), 7 * ratio, 0, 7);
    ctx.stroke();
  }

  // Handles at the right end of the limit lines.
  private drawGrips(): void {
    for (const old of this.place.querySelectorAll(".limit-grip")) old.remove();
    const u = this.chart;
    if (!u) return;
    const taken: number[] = [];
    const byPlace = [...this.series.lines].sort((a, b) => u.valToPos(a.bound, "y") - u.valToPos(b.bound, "y"));
    for (const line of byPlace) {
      // Handles of limits that are close stand below each other.
      const top = Math.max(u.valToPos(line.bound, "y") + 10, (taken.at(-1) ?? -Infinity) + 19);
      taken.push(top);
      const style = `top:${top}px;${this.gutter() === kGutter ? `left:${this.place.clientWidth - kGutter + 4}px` : "right:4px"}`;
      this.place.append(
        line.key === "" ? h("span", { class: "limit-grip still", style, title: "the profile limits SQNR, in dB" }, line.label) : this.grip(line, style),
      );
    }
  }

  private grip(line: Line, style: string): HTMLElement {
    const moved = this.model.moved.has(line.key);
    const grip = h(
      "button",
      {
        class: moved ? "limit-grip moved" : "limit-grip",
        type: "button",
        role: "slider",
        "data-limit": line.key,
        "aria-label": `what-if limit of ${line.key}`,
        "aria-valuenow": line.bound,
        "aria-valuetext": number(line.bound),
        "aria-orientation": "vertical",
        title: `the profile says ${line.limit.metric} ${line.limit.operation} ${number(line.limit.value)}${line.limit.dtype ? ` for ${line.limit.dtype}` : ""}; drag, or arrow keys: what if it were another?`,
        style,
      },
      `${moved ? "what if" : line.label} ${number(line.bound)} ↕`,
    );
    grip.addEventListener("pointerdown", (down) => {
      down.preventDefault();
      const move = (e: PointerEvent) => {
        const now = this.chart!; // drawn anew at every move
        const y = e.clientY - now.over.getBoundingClientRect().top;
        this.moveLimit(line, now.posToVal(Math.min(now.over.clientHeight, Math.max(0, y)), "y"));
      };
      const up = () => {
        removeEventListener("pointermove", move);
        removeEventListener("pointerup", up);
      };
      addEventListener("pointermove", move);
      addEventListener("pointerup", up);
    });
    grip.addEventListener("keydown", (e) => {
      const by = e.key === "ArrowUp" ? 1 : e.key === "ArrowDown" ? -1 : 0;
      if (by === 0) return;
      e.preventDefault();
      this.moveLimit(line, this.series.log ? line.bound * 1.25 ** by : line.bound + by * 0.5);
      this.place.querySelector<HTMLElement>(`[data-limit="${CSS.escape(line.key)}"]`)?.focus();
    });
    return grip;
  }

  private moveLimit(line: Line, bound: number): void {
    const value = Number(onScale(this.series.metric, Number(bound.toPrecision(3))).toPrecision(8));
    const others = this.model.state.view.limits.filter(([key]) => key !== line.key);
    this.model.state.set({ limits: [...others, [line.key, value]] });
  }
}

const labelTop = (bbox: uPlot.BBox, y: number, ratio: number) => Math.max(bbox.top - 2 * ratio, y - 12 * ratio);

// Whole numbers along an axis, as many as have room; all of them if their names fit.
export function placesAlong(min: number, max: number, pitch: number): number[] {
  let step = 1;
  for (let k = 0; pitch < kNameWidth && step * pitch < 56; k++) step = [1, 2, 5][k % 3] * 10 ** Math.floor(k / 3);
  const places: number[] = [];
  for (let at = Math.ceil(min / step) * step; at <= max; at += step) places.push(at);
  return places;
}

const isDecade = (value: number) => Math.abs(Math.log10(value) - Math.round(Math.log10(value))) < 1e-9;

function cross(ctx: CanvasRenderingContext2D, x: number, y: number, r: number, width: number): void {
  ctx.lineWidth = width;
  ctx.beginPath();
  ctx.moveTo(x - r, y - r);
  ctx.lineTo(x + r, y + r);
  ctx.moveTo(x - r, y + r);
  ctx.lineTo(x + r, y - r);
  ctx.stroke();
}

function triangle(ctx: CanvasRenderingContext2D, x: number, y: number, r: number): void {
  ctx.beginPath();
  ctx.moveTo(x, y - r);
  ctx.lineTo(x + r, y + r * 0.8);
  ctx.lineTo(x - r, y + r * 0.8);
  ctx.fill();
}

function dot(ctx: CanvasRenderingContext2D, x: number, y: number, r: number): void {
  ctx.beginPath();
  ctx.arc(x, y, r, 0, 7);
  ctx.fill();
}
