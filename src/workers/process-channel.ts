import type { ToWorker } from './messages.js';
import type { Channel } from './primary-link.js';

/** The channel that Node opens between a forked process and the one that forked it. */
export const processChannel: Channel = {
  send: (message) =>
    new Promise((resolve) => {
      // Without the primary process this one is about to end: Node sees to that.
      if (!process.send || !process.connected) return resolve();
      process.send(message, undefined, undefined, () => resolve());
    }),
  onMessage: (listener) => void process.on('message', (message) => listener(message as ToWorker)),
};
