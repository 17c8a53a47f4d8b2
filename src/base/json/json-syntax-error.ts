/** The bytes are not one JSON document. The message says what was expected and at which byte, never the bytes themselves. */
export class JsonSyntaxError extends Error {
  constructor(
    expected: string,
    /** Offset of the first byte that cannot be right; the length of the text when it ends too early. */
    readonly offset: number,
  ) {
    super(`${expected} at byte ${offset}`);
    this.name = 'JsonSyntaxError';
  }
}
