// SPDX-License-Identifier: Apache-2.0
//
// The whole graph in a strip beside the view, with a frame around what is in view; drag to go elsewhere.
import { h, sized } from "./dom.ts";
import type { Camera, Painter } from "./paint.ts";
import { palette } from "./theme.ts";

const kMargin = 6; // of the strip, around it and between its parts
const kButtons = 30;
const kLeast = 22; // pixels: a graph that is flatter or narrower is stretched

export class Minimap {
  private readonly canvas = h("canvas", { id: "minimap", "aria-hidden": "true" });
  private readonly image = document.createElement("canvas");
  private width = 0;
  private height = 0;
  private scale = { x: 1, y: 1 };

  constructor(
    place: HTMLElement,
    private readonly go: (x: number, y: number) => void,
  ) {
    place.append(this.canvas);
    const move = (event: PointerEvent) => {
      const box = this.canvas.getBoundingClientRect();
      this.go((event.clientX - box.left) / this.scale.x, (event.clientY - box.top) / this.scale.y);
    };
    this.canvas.addEventListener("pointerdown", (event) => {
      this.canvas.setPointerCapture(event.pointerId);
      move(event);
    });
    this.canvas.addEventListener("pointermove", (event) => event.buttons !== 0 && move(event));
  }

  // Draws the graph once; what moves is only the frame.
  render(painter: Painter, strip: HTMLElement): void {
    const { width, height } = painter.fold.head;
    const room = { width: strip.clientWidth - 2 * kMargin, height: strip.clientHeight - 2 * kMargin };
    const isFlat = room.width > room.height; // on a narrow page: under the view, buttons at the left
    const most = {
      width: Math.max(kLeast, isFlat ? room.width - 3 * kButtons - kMargin : room.width),
      height: Math.max(kLeast, isFlat ? room.height : room.height - kButtons - kMargin),
    };
    const scale = Math.min(most.width / width, most.height / height);
    this.width = Math.max(kLeast, width * scale);
    this.height = Math.max(kLeast, height * scale);
    this.scale = { x: this.width / width, y: this.height / height };
    const context = sized(this.image, this.width, this.height);
    context.fillStyle = palette().surface;
    context.fillRect(0, 0, this.width, this.height);
    context.scale(this.scale.x, this.scale.y);
    painter.draw(context, { x: 0, y: 0, k: scale }, width * scale, height * scale, {
      dim: null,
      trace: null,
      selected: -1,
      mini: true,
    });
  }

  frame(camera: Camera, viewWidth: number, viewHeight: number): void {
    const context = sized(this.canvas, this.width, this.height);
    context.drawImage(this.image, 0, 0, this.width, this.height);
    const c = palette();
    const box: [number, number, number, number] = [
      camera.x * this.scale.x,
      camera.y * this.scale.y,
      (viewWidth / camera.k) * this.scale.x,
      (viewHeight / camera.k) * this.scale.y,
    ];
    context.fillStyle = `${c.accent}22`;
    context.fillRect(...box);
    context.strokeStyle = c.accent;
    context.lineWidth = 1.5;
    context.strokeRect(...box);
  }
}
