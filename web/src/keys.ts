// SPDX-License-Identifier: Apache-2.0
//
// Keys that work everywhere on the page, and the dialog that lists them.
import { h } from "./dom.ts";

export interface Action {
  keys: string[]; // as KeyboardEvent.key
  shown: string;
  what: string;
  run(): void;
}

// What is only listed: keys of single parts.
const kOfParts: [string, string][] = [
  ["↑ ↓ ← →", "graph: along edges and to neighbours; table: rows; plot: one tensor on"],
  ["+ −", "graph: zoom (Shift and arrows pan)"],
  ["Enter", "filter: next match; column title: sort"],
  ["↑ ↓", "handle of a limit: move it (what if)"],
  ["Tab", "from part to part"],
];

export class Keys {
  private readonly dialog: HTMLDialogElement;

  constructor(private readonly actions: Action[]) {
    const help: Action = { keys: ["?"], shown: "?", what: "this help", run: () => this.help() };
    this.actions = [...actions, help];
    const lines = [...this.actions.map(({ shown, what }) => [shown, what]), ...kOfParts];
    this.dialog = h(
      "dialog",
      { id: "help", "aria-labelledby": "help-title" },
      h("h2", { id: "help-title", tabindex: -1, autofocus: true }, "Keys"),
      h(
        "dl",
        {},
        ...lines.flatMap(([keys, what]) => [
          h("dt", {}, ...keys.split(" ").map((key) => h("kbd", {}, key))),
          h("dd", {}, what),
        ]),
      ),
      h(
        "p",
        { class: "muted", style: "margin-top:12px" },
        "Filter words: part of a name, conv*, -pattern to exclude, type:Conv*, reason:nan*, slot:output*, verdict:fail. The address of the page holds the whole view: copy it to show somebody the same.",
      ),
      h("form", { method: "dialog" }, h("button", {}, "Close")),
    );
    document.body.append(this.dialog);
    addEventListener("keydown", (event) => this.onKey(event));
  }

  help(): void {
    if (this.dialog.open) this.dialog.close();
    else this.dialog.showModal();
  }

  private onKey(event: KeyboardEvent): void {
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
    const target = event.target as HTMLElement;
    const typing = target.matches?.("input:not([type=range]), textarea, select");
    if (typing || (this.dialog.open && event.key !== "?")) return;
    const action = this.actions.find(({ keys }) => keys.includes(event.key));
    if (!action) return;
    event.preventDefault();
    action.run();
  }
}
