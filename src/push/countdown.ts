/** Resolves `done` when everything that was added has been taken off again. Starts with one, for its owner. */
export class Countdown {
  readonly done: Promise<void>;
  private left = 1;
  private resolve!: () => void;

  constructor() {
    this.done = new Promise((resolve) => (this.resolve = resolve));
  }

  add(): void {
    this.left += 1;
  }

  takeOff(): void {
    this.left -= 1;
    if (this.left === 0) this.resolve();
  }
}
