import net from 'node:net';

/**
 * A wire that can be spoilt: everything that goes to `port` goes on to the target, in one of these modes.
 *
 *   pass     as it comes
 *   delay    each piece later by `delayMs`, both ways
 *   silence  nothing goes through, nothing is closed; what was held back goes on afterwards
 *   lose     questions go through; the first byte of an answer ends the connection instead
 *   cut      connections are reset, and so is whoever comes
 */
export class Proxy {
  static async start(target) {
    const proxy = new Proxy(target);
    await new Promise((resolve) => proxy.server.listen(0, '127.0.0.1', resolve));
    proxy.port = proxy.server.address().port;
    return proxy;
  }

  constructor(target) {
    /** Port on loopback; may change while the proxy runs. */
    this.target = target;
    this.mode = 'pass';
    this.delayMs = 0;
    this.wires = new Set();
    this.waiting = new Set();
    this.server = net.createServer({ allowHalfOpen: true, noDelay: true }, (near) => this.accept(near));
  }

  set(mode, delayMs = 0) {
    this.mode = mode;
    this.delayMs = delayMs;
    if (mode === 'cut') this.reset();
    if (mode !== 'silence') {
      for (const resume of this.waiting) resume();
      this.waiting.clear();
    }
  }

  reset() {
    for (const socket of this.wires) socket.resetAndDestroy();
  }

  async stop() {
    const closed = new Promise((resolve) => this.server.close(resolve));
    this.set('cut');
    await closed;
  }

  accept(near) {
    near.on('error', () => undefined);
    if (this.mode === 'cut') return void near.resetAndDestroy();
    const far = net.connect({ port: this.target, host: '127.0.0.1', allowHalfOpen: true, noDelay: true });
    far.on('error', () => undefined);
    const join = (one, other) => {
      this.wires.add(one);
      one.once('close', () => {
        this.wires.delete(one);
        other.destroy();
      });
    };
    join(near, far);
    join(far, near);
    this.pump(near, far, false);
    this.pump(far, near, true);
  }

  /** Piece by piece, in order, whatever the mode was when each came. */
  pump(from, to, isAnswer) {
    let tail = Promise.resolve();
    let held = 0;
    const pass = (piece) => {
      held += piece?.length ?? 0;
      if (held > 1_000_000) from.pause();
      const dueMs = performance.now() + (this.mode === 'delay' ? this.delayMs : 0);
      tail = tail.then(async () => {
        await this.hold(dueMs);
        held -= piece?.length ?? 0;
        if (held < 500_000) from.resume();
        if (to.destroyed) return;
        if (piece === null) to.end();
        else if (isAnswer && this.mode === 'lose') to.resetAndDestroy();
        else to.write(piece);
      });
    };
    from.on('data', pass);
    from.once('end', () => pass(null));
  }

  async hold(dueMs) {
    const leftMs = dueMs - performance.now();
    if (leftMs > 0) await new Promise((resolve) => setTimeout(resolve, leftMs));
    while (this.mode === 'silence') await new Promise((resolve) => this.waiting.add(resolve));
  }
}
