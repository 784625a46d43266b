// SPDX-License-Identifier: Apache-2.0
//
// Elements from code. Text goes in as text, never as markup.
import { clean, shorten } from "./text.ts";

type Child = Node | string | null | undefined | false;
type Attributes = Record<string, string | number | boolean | null | undefined | EventListener>;

// h("button", {class: "x", onclick: f}, "text"): null, undefined and false leave an attribute out.
export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === "function") element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  for (const child of children) if (child !== null && child !== undefined && child !== false) element.append(child);
  return element;
}

// A name from the data: isolated from the direction of the text around it, shortened in the middle,
// whole in the tooltip.
export function named(name: string, most = 72, tag: "bdi" | "span" = "bdi"): HTMLElement {
  const text = clean(name);
  const short = shorten(text, most);
  return h(tag, { class: "name", title: short === text ? null : text }, short);
}

export function byId<T extends HTMLElement = HTMLElement>(id: string): T {
  return document.getElementById(id) as T;
}

// A button that puts a text on the clipboard and says so for a moment.
export function copyButton(text: string, what: string, label = "copy"): HTMLButtonElement {
  const button = h("button", { class: "copy", type: "button", "aria-label": `copy ${what}` }, label);
  button.addEventListener("click", async (event) => {
    event.stopPropagation();
    const done = await copyText(text);
    button.textContent = done ? "copied ✓" : "press Ctrl+C";
    setTimeout(() => (button.textContent = label), 1600);
  });
  return button;
}

// Pages from disk have no clipboard interface in some browsers; a selected text area works in all.
async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const area = h("textarea", { class: "off-screen", "aria-hidden": "true" });
    area.value = text;
    document.body.append(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    return done;
  }
}

export function download(name: string, text: string): void {
  const url = URL.createObjectURL(new Blob([text], { type: "text/plain" }));
  h("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
}

// A canvas in device pixels, its context already scaled to CSS pixels.
export function sized(canvas: HTMLCanvasElement, width: number, height: number): CanvasRenderingContext2D {
  const ratio = window.devicePixelRatio || 1;
  const w = Math.max(1, Math.round(width * ratio));
  const hh = Math.max(1, Math.round(height * ratio));
  if (canvas.width !== w) canvas.width = w;
  if (canvas.height !== hh) canvas.height = hh;
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
  const context = canvas.getContext("2d")!;
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  return context;
}
