/**
 * How far producers may be ahead of the slowest group of consumers, in messages. Where consuming is slower than pushing it
 * is what decides the rate, and the queue does not grow without end meanwhile.
 */
export class HeadStart {
  sent = 0;
  waiting = [];

  /** @param read messages that every group has got so far */
  constructor(max, read) {
    this.max = max;
    this.read = read;
  }

  /** Returns when `count` more may be sent. */
  async take(count) {
    while (this.sent - this.read() >= this.max) await new Promise((resolve) => this.waiting.push(resolve));
    this.sent += count;
  }

  /** To be called when messages were read, and when nobody needs to wait any longer. */
  moved() {
    if (this.waiting.length === 0) return;
    const { waiting } = this;
    this.waiting = [];
    for (const goOn of waiting) goOn();
  }

  open() {
    this.max = Infinity;
    this.moved();
  }
}
