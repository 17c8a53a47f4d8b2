/** The client left, so nobody waits for the answer any more. Never rendered. */
export class AbortedError extends Error {
  constructor() {
    super('the client is gone');
    this.name = 'AbortedError';
  }
}
