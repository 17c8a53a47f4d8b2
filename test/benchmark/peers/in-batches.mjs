/**
 * Messages that a client library hands over one by one, `handle`d in batches: as soon as there are `batch` of them, or at
 * the end of the event-loop turn that brought fewer.
 */
export function inBatches(batch, handle) {
  let held = [];
  const flush = () => {
    if (held.length === 0) return;
    const messages = held;
    held = [];
    void handle(messages);
  };
  return (message) => {
    held.push(message);
    if (held.length >= batch) flush();
    else if (held.length === 1) setImmediate(flush);
  };
}
