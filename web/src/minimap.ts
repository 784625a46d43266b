// SPDX-License-Identifier: Apache-2.0
//
// The whole graph in a corner, with a frame around what is in view; drag to go elsewhere.
import { h, sized } from "./dom.ts";
import type { Camera, Painter } from "./paint.ts";
import { palette } from "./theme.ts";

const kMost = { width: 176, height: 132 };
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
  render(painter: Painter, room: { width: number; height: number }): void {
    const { width, height } = painter.fold.head;
    const most = { width: Math.min(kMost.width, room.width / 4), height: Math.min(kMost.height, room.height / 3.2) };
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
    const whole =
      camera.x <= 0 &&
      camera.y <= 0 &&
      viewWidth / camera.k + camera.x >= this.width / this.scale.x &&
      viewHeight / camera.k + camera.y >= this.height / this.scale.y;
    this.canvas.classList.toggle("hidden", whole);
    if (whole) return;
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
