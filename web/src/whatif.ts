// SPDX-License-Identifier: Apache-2.0
//
// The strip that appears once a limit was moved: what would change, marked as hypothetical, with the
// profile to save and the way back.
import type { Limit } from "./data.ts";
import { download, h } from "./dom.ts";
import { holds, keyOf, tomlOf } from "./judge.ts";
import type { Model } from "./model.ts";
import { Mark } from "./report.ts";
import { counted } from "./text.ts";

// How many rows fail, how many would, and how many of these only because of limits that were not moved.
function counts(model: Model): [number, number, number] {
  const { report, limits, moved } = model;
  let [judged, supposed, kept] = [0, 0, 0];
  for (const row of model.rows) {
    const failed = report.mark(row) === Mark.fail;
    if (failed) judged++;
    if (model.marks[row] !== Mark.fail) continue;
    supposed++;
    const mine = limits.of(row).filter((limit) => moved.has(keyOf(limit)));
    const broken = (limit: Limit, bound: number) => !holds(limit.operation, bound, limits.value(limit.metric, row));
    if (
      failed &&
      mine.some((limit) => broken(limit, limit.value)) &&
      !mine.some((limit) => broken(limit, moved.get(keyOf(limit))!))
    )
      kept++;
  }
  return [judged, supposed, kept];
}

export function drawWhatIf(place: HTMLElement, model: Model): void {
  const update = () => {
    place.classList.toggle("hidden", model.moved.size === 0);
    if (model.moved.size === 0) {
      place.replaceChildren();
      return;
    }
    const [judged, supposed, kept] = counts(model);
    const others = kept > 0 ? `; ${kept} hold the moved limit but break another` : "";
    const changed = supposed === judged ? `still ${counted(judged, "tensor")}` : `${supposed} instead of ${judged} tensors`;
    place.replaceChildren(
      h("b", {}, "HYPOTHETICAL"),
      h(
        "span",
        { id: "what-if" },
        `With ${counted(model.moved.size, "limit")} moved ${changed} would fail${others}. The verdict of the run stays.`,
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
