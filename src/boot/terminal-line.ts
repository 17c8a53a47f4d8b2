/** What pino writes in one line, as far as a reader at a terminal wants to see it. */
interface LogRecord {
  level?: string;
  time?: string;
  context?: string;
  msg?: string;
  stack?: string;
  [field: string]: unknown;
}

/** One line of JSON as a person reads it: `10:21:07 warn Spool the database is away …`, the stack below. */
export function terminalLine(json: string): string {
  const { level = '', time = '', context, msg = '', stack, ...fields } = JSON.parse(json) as LogRecord;
  const clock = time.slice(11, 19);
  const others = Object.entries(fields).map(([name, value]) => `${name}=${String(value)}`);
  const line = [clock, level.padEnd(5), ...(context ? [context] : []), msg, ...others].join(' ');
  return stack ? `${line}\n${stack}\n` : `${line}\n`;
}
