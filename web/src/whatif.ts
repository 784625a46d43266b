// SPDX-License-Identifier: Apache-2.0
//
// The strip that appears once a limit was moved: what would change, marked as hypothetical, with the
// profile to save and the way back.
import { download, h } from "./dom.ts";
import { tomlOf } from "./judge.ts";
import type { Model } from "./model.ts";
import { Mark } from "./report.ts";
import { counted } from "./text.ts";

export function drawWhatIf(place: HTMLElement, model: Model): void {
  const update = () => {
    place.classList.toggle("hidden", model.moved.size === 0);
    if (model.moved.size === 0) {
      place.replaceChildren();
      return;
    }
    let failNow = 0;
    let failThen = 0;
    for (const row of model.rows) {
      if (model.report.mark(row) === Mark.fail) failNow++;
      if (model.marks[row] === Mark.fail) failThen++;
    }
    place.replaceChildren(
      h("b", {}, "HYPOTHETICAL"),
      h(
        "span",
        { id: "what-if" },
        `With ${counted(model.moved.size, "limit")} moved ${failThen} instead of ${failNow} tensors would fail. The verdict of the run stays.`,
      ),
      h(
        "button",
        { type: "button", id: "toml", onclick: () => download("what-if.toml", tomlOf(model.report, model.moved)) },
        "save as profile (TOML)",
      ),
      h(
        "button",
        { type: "button", id: "reset-limits", onclick: () => model.state.set({ limits: [] }) },
        "back to the profile's limits",
      ),
    );
  };
  update();
  model.state.listen((changed) => {
    if (changed.has("limits") || changed.has("step") || changed.has("rank")) update();
  });
}
