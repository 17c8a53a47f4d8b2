export interface WaitOptions {
  /** Time limit in milliseconds. */
  within: number;
  /** What is waited for, as it should read in the failure: "the pop to be parked". */
  what: string;
}

type Truthy<T> = Exclude<T, null | undefined | false | 0 | ''>;

const POLL_MS = 5;

/**
 * Waits for a promise, or until a condition gives something truthy, and returns it. The only place where tests
 * wait: there is no sleep. A condition that throws is not fulfilled yet; its last error is the cause of the failure.
 */
export async function waitFor<T>(condition: Promise<T>, options: WaitOptions): Promise<T>;
export async function waitFor<T>(condition: () => T | Promise<T>, options: WaitOptions): Promise<Truthy<T>>;
export async function waitFor<T>(
  condition: Promise<T> | (() => T | Promise<T>),
  { within, what }: WaitOptions,
): Promise<T> {
  if (typeof condition !== 'function') return limited(condition, within, what);
  const untilMs = performance.now() + within;
  let lastError: unknown;
  for (;;) {
    try {
      const value = await limited(Promise.resolve(condition()), untilMs - performance.now(), what);
      if (value) return value;
      lastError = undefined;
    } catch (error) {
      if (error instanceof WaitedTooLong) throw new Error(error.message, { cause: lastError });
      lastError = error;
    }
    if (performance.now() >= untilMs) throw new Error(tooLong(within, what), { cause: lastError });
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }

  function limited<V>(promise: Promise<V>, ms: number, subject: string): Promise<V> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => reject(new WaitedTooLong(tooLong(within, subject))), Math.max(0, ms));
      promise.then(resolve, reject).finally(() => clearTimeout(timer));
    });
  }
}

class WaitedTooLong extends Error {}

function tooLong(within: number, what: string): string {
  return `waited ${within} ms in vain for ${what}`;
}
