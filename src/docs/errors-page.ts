import { errorTable } from '../base/errors/error-table.js';

/** docs/errors.md, from the table that the broker answers from. */
export function errorsPage(): string {
  const rows = Object.entries(errorTable)
    .sort(([a, x], [b, y]) => x.status - y.status || a.localeCompare(b))
    .map(([code, { status, meaning }]) => `| ${status} | \`${code}\` | ${meaning} |`);
  return [
    '# Errors',
    '',
    'Every failure is JSON: `{"error": "<what happened>", "code": "<one of these>"}`, sometimes with more keys (`parameters`,',
    '`items`, `requestId`). 429 and 503 carry `Retry-After` in seconds. Clients may retry 5xx and 429; other 4xx are final.',
    '',
    'Acks answer 200 with one result per message; what went wrong with one message stands in its `error`. A push stores what',
    'it can: an item that cannot be stored has `"status":"failed"` with `error` and `code` in its place.',
    '',
    '| Status | Code | What it means and what to do |',
    '| --- | --- | --- |',
    ...rows,
    '',
    'This page is written by `npm run docs` from `src/base/errors/error-table.ts`.',
    '',
  ].join('\n');
}
