// SPDX-License-Identifier: Apache-2.0
//
// All rows, of which a window is in the document. Header and first column stay in sight; one row is the
// active one for the keyboard. Sorting is stable, undefined numbers come last in both directions.
import { type Column, columnsOf } from "./columns.ts";
import { h, named } from "./dom.ts";
import { rowFilter } from "./filter.ts";
import { markBadge } from "./headline.ts";
import type { Model } from "./model.ts";
import { kMarks, Mark } from "./report.ts";
import { clean, counted } from "./text.ts";

const kRowHeight = 26;
const kFewRows = 60; // all of which are printed
const kNarrow = 760; // pixels, in which few columns fit
const kSpare = 6; // rows drawn above and below the window

// Rows by a column; `sign` -1 for descending.
export function sortRows(rows: Int32Array, value: (row: number) => number | string, sign: 1 | -1): Int32Array {
  const keys = new Map<number, number | string>();
  for (const row of rows) keys.set(row, value(row));
  return rows.slice().sort((a, b) => {
    const [x, y] = [keys.get(a)!, keys.get(b)!];
    if (typeof x === "number" && typeof y === "number") {
      const [noX, noY] = [Number.isNaN(x), Number.isNaN(y)];
      if (noX || noY) return noX && noY ? a - b : noX ? 1 : -1;
      return x === y ? a - b : sign * (x < y ? -1 : 1);
    }
    return x === y ? a - b : sign * (x < y ? -1 : 1);
  });
}

interface Line {
  element: HTMLElement;
  cells: HTMLElement[];
  row: number;
  place: number;
}

export class Table {
  private readonly all: Column[];
  private columns: Column[] = [];
  private order = new Int32Array(0);
  private lines: Line[] = [];
  private readonly head = h("div", { class: "thead", role: "row", "aria-rowindex": 1 });
  private readonly body = h("div", { class: "tbody", role: "rowgroup" });
  private readonly none = h("div", { class: "empty hidden", role: "status" });
  private readonly count: HTMLElement;
  private queued = false;
  private isNarrow = false;
  private printing = false; // paper shows other rows than the window
  private nameLength = 64; // characters that fit the first column

  constructor(
    private readonly place: HTMLElement,
    private readonly model: Model,
    private readonly bar: { filter: HTMLInputElement; chips: HTMLElement; count: HTMLElement; columns: HTMLElement },
  ) {
    this.all = columnsOf(model);
    this.count = bar.count;
    place.setAttribute("role", "grid");
    place.setAttribute("aria-label", "rows of the comparison");
    place.tabIndex = 0;
    place.append(this.head, this.body, this.none);
    place.addEventListener("scroll", () => {
      this.queue();
      this.showRest();
    });
    place.addEventListener("keydown", (event) => this.onKey(event));
    new ResizeObserver(() => {
      if (!this.printing && this.isNarrow !== place.clientWidth < kNarrow) {
        this.rebuildColumns();
        this.refill();
      }
      this.fitColumns();
      this.render(true);
    }).observe(place);
    addEventListener("afterprint", () => {
      this.printing = false;
      this.refill();
      this.render(true);
    });
    this.wireBar();
    this.rebuildColumns();
    this.refill();
    model.state.listen((changed) => {
      if (changed.has("columns")) this.rebuildColumns();
      if (["q", "marks", "sort", "step", "rank", "limits", "columns"].some((key) => changed.has(key as never)))
        this.refill();
      if (changed.has("op") || changed.has("slot") || changed.has("row") || changed.has("step") || changed.has("rank"))
        this.reveal();
      this.render(true);
    });
    this.reveal();
    if (model.selected() < 0) this.showFirstFailure();
  }

  // The rows now shown, in order.
  get rows(): Int32Array {
    return this.order;
  }

  // The filter of the words and chips; null if everything is shown.
  filter(): ((row: number) => boolean) | null {
    const { q, marks } = this.model.state.view;
    if (q.trim() === "" && marks.length === 0) return null;
    const words = rowFilter(this.model.report, this.model.marks, q);
    return (row) => (marks.length === 0 || marks.includes(kMarks[this.model.marks[row]].key)) && words(row);
  }

  private wireBar(): void {
    const { state } = this.model;
    const { filter, chips, columns } = this.bar;
    filter.value = state.view.q;
    // Words count once typing rests, and at once when the field is left: a click elsewhere must not lose them.
    let timer = 0;
    const take = () => {
      clearTimeout(timer);
      timer = 0;
      state.set({ q: filter.value });
    };
    filter.addEventListener("input", () => {
      clearTimeout(timer);
      timer = window.setTimeout(take, 60);
    });
    filter.addEventListener("blur", () => timer !== 0 && take());
    filter.addEventListener("keydown", (event) => {
      if (event.key === "Enter") {
        take();
        this.next(event.shiftKey ? -1 : 1);
      } else if (event.key === "Escape") {
        filter.value = "";
        take();
        filter.blur();
      }
    });
    columns.addEventListener("click", () => state.set({ columns: state.view.columns === "key" ? "all" : "key" }));
    const keys = kMarks.filter(({ key }) => key !== "unknown").map(({ key }) => key);
    const buttons = keys.map((key, mark) => {
      const button = h("button", { type: "button", "data-show": key }, markBadge(mark, false), h("span", { class: "word" }, kMarks[mark].label), h("span"));
      button.addEventListener("click", () => {
        const now = state.view.marks.length === 0 ? [...keys] : state.view.marks;
        const next: string[] = now.includes(key) ? now.filter((other) => other !== key) : [...now, key];
        state.set({ marks: next.length === keys.length ? [] : next.length === 0 ? [key] : next });
      });
      return button;
    });
    chips.append(...buttons);
    const sync = () => {
      if (document.activeElement !== filter) filter.value = state.view.q;
      columns.setAttribute("aria-pressed", String(state.view.columns === "all"));
      const counts = new Array<number>(kMarks.length).fill(0);
      for (const row of this.model.rows) counts[this.model.marks[row]]++;
      buttons.forEach((button, mark) => {
        const on = state.view.marks.length === 0 || state.view.marks.includes(keys[mark]);
        button.setAttribute("aria-pressed", String(on));
        const count = counts[mark].toLocaleString("en-US");
        button.lastElementChild!.textContent = count;
        button.title = button.ariaLabel = `${kMarks[mark].label}: ${count}`;
        button.classList.toggle("hidden", counts[mark] === 0 && on);
      });
    };
    sync();
    state.listen(sync);
  }

  private rebuildColumns(): void {
    this.isNarrow = this.place.clientWidth < kNarrow;
    this.columns = this.all.filter(({ main }) => main || this.model.state.view.columns === "all");
    // Where few columns are in sight the number that decides is one of them.
    const deciding = this.columns.findIndex(({ numeric, key }) => numeric && key !== "step" && key !== "rank");
    if (this.isNarrow && deciding > 0) this.columns.splice(1, 0, ...this.columns.splice(deciding, 1));
    this.fitColumns();
    this.head.replaceChildren(
      ...this.columns.map((column, j) =>
        h(
          "div",
          {
            class: `th${column.numeric ? " num" : ""}${j === 0 ? " first" : ""}`,
            role: "columnheader",
            "aria-colindex": j + 1,
            "data-column": column.key,
            title: column.help,
            tabindex: 0,
            onclick: () => this.sortBy(column),
            onkeydown: (event) => {
              if (!["Enter", " "].includes((event as KeyboardEvent).key)) return;
              event.preventDefault();
              this.sortBy(column);
            },
          },
          column.title,
        ),
      ),
    );
    this.body.replaceChildren();
    this.lines = [];
    this.place.setAttribute("aria-colcount", String(this.columns.length));
  }

  // The first column takes what is left beside those that fit whole, so that none is cut.
  private fitColumns(): void {
    const room = this.place.clientWidth;
    let first = Math.min(300, Math.max(150, room * 0.26));
    let left = room - first;
    for (const { width } of this.columns.slice(1)) {
      if (Math.round(width) > left) break;
      left -= Math.round(width);
    }
    if (room > 0) first += Math.max(0, left);
    this.nameLength = Math.max(12, Math.floor((first - 48) / 7.1));
    const template = this.columns.map(({ width }, j) => `${Math.round(j === 0 ? first : width)}px`).join(" ");
    this.place.style.setProperty("--columns", template);
    this.head.style.gridTemplateColumns = template;
    this.showRest();
  }

  // A sign that there are more columns at the right.
  private showRest(): void {
    const { scrollLeft, clientWidth, scrollWidth } = this.place;
    const card = this.place.parentElement!;
    card.classList.toggle("more", scrollLeft + clientWidth < scrollWidth - 4);
    card.style.setProperty("--table-top", `${this.place.offsetTop}px`);
  }

  // Up, down, and back to the order of execution. Numbers start with the worst end.
  private sortBy(column: Column): void {
    const { sort } = this.model.state.view;
    const [first, second] = column.numeric ? [`-${column.key}`, column.key] : [column.key, `-${column.key}`];
    this.model.state.set({ sort: sort === first ? second : sort === second ? "" : first });
  }

  private refill(): void {
    const filter = this.filter();
    let rows = filter ? this.model.rows.filter(filter) : this.model.rows;
    const { sort } = this.model.state.view;
    const column = this.all.find(({ key }) => key === sort.replace(/^-/, ""));
    if (column) rows = sortRows(rows, (row) => column.value(row), sort.startsWith("-") ? -1 : 1);
    this.order = rows as Int32Array<ArrayBuffer>;
    this.sayNothing();
    this.body.style.height = `${rows.length * kRowHeight}px`;
    this.place.setAttribute("aria-rowcount", String(rows.length + 1));
    const all = this.model.rows.length;
    this.count.textContent = rows.length === all ? counted(all, "row") : `${rows.length.toLocaleString("en-US")} of ${counted(all, "row")}`;
    for (const th of this.head.children as HTMLCollectionOf<HTMLElement>) {
      const mine = th.dataset.column === column?.key;
      th.setAttribute("aria-sort", !mine ? "none" : sort.startsWith("-") ? "descending" : "ascending");
      const title = this.columns.find(({ key }) => key === th.dataset.column)!.title;
      th.textContent = mine ? `${title} ${sort.startsWith("-") ? "↓" : "↑"}` : title;
    }
  }

  // Why no row is there, and the way back.
  private sayNothing(): void {
    this.none.classList.toggle("hidden", this.order.length > 0);
    if (this.order.length > 0) return;
    const { state, rows } = this.model;
    const { q, marks } = state.view;
    const button = (text: string, run: () => void) => h("button", { type: "button", onclick: run }, text);
    const word = q.trim();
    const anywhere = /^[^\s":*-][^\s":]*$/.test(word) && word.includes("*") ? `*${word.replace(/\**$/, "*")}` : "";
    this.none.replaceChildren(
      h("p", {}, rows.length === 0 ? "The result has no rows." : word ? `No row matches ${clean(word)}.` : "No row is of the chosen verdicts."),
      h(
        "p",
        {},
        anywhere ? button(`try ${clean(anywhere)}`, () => state.set({ q: anywhere })) : "",
        " ",
        word || marks.length > 0 ? button("show all rows", () => state.set({ q: "", marks: [] })) : "",
      ),
    );
  }

  private queue(): void {
    if (this.queued) return;
    this.queued = true;
    requestAnimationFrame(() => {
      this.queued = false;
      this.render();
    });
  }

  private render(again = false): void {
    if (this.printing) return;
    const height = this.place.clientHeight || 400;
    const wanted = Math.min(this.order.length, Math.ceil(height / kRowHeight) + 2 * kSpare);
    while (this.lines.length < wanted) this.lines.push(this.line());
    const first = Math.max(0, Math.floor(this.place.scrollTop / kRowHeight) - kSpare);
    const selected = this.model.selected();
    const size = this.lines.length;
    this.lines.forEach((line, k) => {
      // The same element keeps the same row while it stays in the window.
      const place = size === 0 ? 0 : first + ((k - (first % size) + size) % size);
      if (place >= this.order.length) {
        line.element.classList.add("hidden");
        line.row = line.place = -1;
        return;
      }
      const row = this.order[place];
      if (line.row !== row || again) this.fill(line, row);
      if (line.place !== place) {
        line.place = place;
        line.element.style.transform = `translateY(${place * kRowHeight}px)`;
        line.element.setAttribute("aria-rowindex", String(place + 2));
      }
      line.element.classList.remove("hidden");
      line.element.setAttribute("aria-selected", String(row === selected));
      if (row === selected) this.place.setAttribute("aria-activedescendant", line.element.id);
    });
  }

  private line(): Line {
    const cells = this.columns.map((column, j) =>
      h("div", {
        class: `td${column.numeric ? " num" : ""}${j === 0 ? " first" : ""}`,
        role: j === 0 ? "rowheader" : "gridcell",
        "aria-colindex": j + 1,
      }),
    );
    const element = h("div", { class: "tr", role: "row", id: `row-${this.lines.length}` }, ...cells);
    element.style.gridTemplateColumns = "var(--columns)";
    const line: Line = { element, cells, row: -1, place: -1 };
    element.addEventListener("click", () => line.row >= 0 && this.model.select(line.row));
    this.body.append(element);
    return line;
  }

  private fill(line: Line, row: number): void {
    line.row = row;
    const { report, marks } = this.model;
    line.element.dataset.op = report.name(row);
    line.element.dataset.verdict = kMarks[marks[row]].verdict;
    line.element.dataset.row = String(row);
    this.columns.forEach((column, j) => {
      const cell = line.cells[j];
      if (j === 0) {
        const name = named(report.name(row), this.nameLength);
        name.title = clean(report.name(row));
        cell.replaceChildren(markBadge(marks[row]), name);
        return;
      }
      const text = column.text(row);
      cell.textContent = text;
      cell.title = column.whole?.(row) ?? (text.length > 14 ? text : "");
      cell.className = `td${column.numeric ? " num" : ""} ${column.look?.(row) ?? ""}`;
    });
  }

  // Brings the selected row into the window.
  private reveal(): void {
    const place = this.order.indexOf(this.model.selected());
    if (place >= 0) {
      const top = place * kRowHeight;
      const room = this.place.clientHeight - 2 * kRowHeight;
      if (top < this.place.scrollTop || top > this.place.scrollTop + room)
        this.place.scrollTop = Math.max(0, top - room / 3);
    }
    this.render();
  }

  // Nothing selected: the window starts where it begins to matter.
  private showFirstFailure(): void {
    const culprit = this.model.report.head.findings.find(({ operator }) => operator !== null)?.operator;
    const named = culprit ? this.model.report.rowsOf(culprit) : [];
    const row = named.length > 0 ? this.model.worstOf(named) : this.model.failures()[0];
    const place = row === undefined ? -1 : this.order.indexOf(row);
    const before = this.place.clientHeight > 8 * kRowHeight ? 2 : 0; // rows above it, where there is room
    if (place > before && this.model.state.view.sort === "") this.place.scrollTop = (place - before) * kRowHeight;
    this.render();
  }

  // The next row of the table.
  next(by: number): void {
    const now = this.order.indexOf(this.model.selected());
    const from = now >= 0 ? now : by > 0 ? -1 : this.order.length;
    const place = Math.min(this.order.length - 1, Math.max(0, from + by));
    if (this.order.length > 0) this.model.select(this.order[place]);
  }

  private onKey(event: KeyboardEvent): void {
    const page = Math.max(1, Math.floor(this.place.clientHeight / kRowHeight) - 2);
    const steps: Record<string, number> = {
      ArrowDown: 1,
      ArrowUp: -1,
      PageDown: page,
      PageUp: -page,
      Home: -1e9,
      End: 1e9,
    };
    if (event.key in steps) this.next(steps[event.key]);
    else if (event.key === "ArrowLeft") this.place.scrollLeft -= 80;
    else if (event.key === "ArrowRight") this.place.scrollLeft += 80;
    else return;
    event.preventDefault();
  }

  // Paper has no window. Of many rows those are drawn that are worth a look, unless the reader chose some, and what is
  // left out is said.
  print(most: number): void {
    const { report } = this.model;
    const isFine = (row: number) => this.model.marks[row] === Mark.pass || report.excused[row] === 1;
    const chosen = this.filter() !== null || this.order.length <= kFewRows;
    const wanted = chosen ? this.order : this.order.filter((row) => !isFine(row));
    const last = Math.min(wanted.length, most);
    while (this.lines.length < last) this.lines.push(this.line());
    this.fitColumns();
    this.lines.forEach((line, k) => {
      line.element.classList.toggle("hidden", k >= last);
      if (k < last) this.fill(line, wanted[k]);
      line.place = -1;
    });
    this.printing = true;
    const left = this.order.length - last;
    if (left === 0) return;
    const what = wanted.length > last ? `the first ${last} of ${counted(wanted.length, "row")}` : `${counted(last, "row")} worth a look`;
    this.count.textContent = `${what}; ${left.toLocaleString("en-US")} more are not printed`;
  }
}
