/** A finished file of the spool. */
export interface SpoolFile {
  readonly path: string;
  readonly name: string;
  readonly events: number;
  readonly bytes: number;
  /** When it was begun, by this machine's clock; from its name. */
  readonly writtenAtMs: number;
}

/** Being written. */
export const ACTIVE = '.tmp';
/** Complete, to be replayed. */
export const FINISHED = '.buf';

const NAME = /^(\d{13})-(\d{8})(?:-[0-9a-f]+)?\.(tmp|buf)$/;
const MS_DIGITS = 13;
const SEQUENCE_DIGITS = 8;
const SEQUENCE_MAX = 10 ** SEQUENCE_DIGITS;

/** Milliseconds and number of a file of ours; null for anything else that lies in the directory. */
export function parseName(name: string): { writtenAtMs: number; isActive: boolean } | null {
  const match = NAME.exec(name);
  return match && { writtenAtMs: Number(match[1]), isActive: match[3] === 'tmp' };
}

/** Names whose order is the order of their making, also when the clock is set back. */
export class FileNames {
  private lastMs = 0;
  private sequence = 0;

  /** What is there already comes first. */
  after(writtenAtMs: number): void {
    if (writtenAtMs >= this.lastMs) {
      this.lastMs = writtenAtMs + 1;
      this.sequence = 0;
    }
  }

  /** Without an ending. */
  next(nowMs: number): string {
    this.after(Math.max(nowMs, this.lastMs) - 1);
    const sequence = String(this.sequence++ % SEQUENCE_MAX).padStart(SEQUENCE_DIGITS, '0');
    return `${String(this.lastMs).padStart(MS_DIGITS, '0')}-${sequence}`;
  }
}
