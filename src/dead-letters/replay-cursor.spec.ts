import { expect, it } from '@jest/globals';
import { cursorText, readCursor } from './replay-cursor.js';

const cursor = {
  after: { id: '01890000-0000-7000-8000-000000000001', failedAt: 1785917472123456 },
  until: 1785917472999999,
};

it('comes back as it was written', () => {
  expect(readCursor(cursorText(cursor))).toEqual(cursor);
  expect(cursorText(cursor)).toMatch(/^[\w-]+$/);
});

it.each([
  ...['', 'x', '%', '0', cursorText(cursor).slice(0, -4)],
  ...['1 2', '1 2 3', `1 x ${cursor.after.id}`, `1 2 ${cursor.after.id} 3`, `1.5 2 ${cursor.after.id}`].map(
    (text) => Buffer.from(text).toString('base64url'),
  ),
])('%j is refused', (text) => {
  expect(() => readCursor(text)).toThrow('next must be the text that the call before gave');
});
