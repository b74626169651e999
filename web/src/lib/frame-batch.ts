/** When the page is hidden no frames are drawn, but what depends on the state must still learn of it. */
const HIDDEN_MS = 200;

/** Calls back once for any number of requests made before the next frame is drawn. */
export class FrameBatch {
  #frame: number | null = null;
  #timer: ReturnType<typeof setTimeout> | null = null;

  constructor(readonly callback: () => void) {}

  request(): void {
    if (this.#timer !== null) return;
    this.#frame = requestAnimationFrame(() => this.#run());
    this.#timer = setTimeout(() => this.#run(), HIDDEN_MS);
  }

  cancel(): void {
    if (this.#frame !== null) cancelAnimationFrame(this.#frame);
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#frame = null;
    this.#timer = null;
  }

  #run(): void {
    this.cancel();
    this.callback();
  }
}
