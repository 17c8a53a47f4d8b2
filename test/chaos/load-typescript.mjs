import { readFileSync } from 'node:fs';
import { transformSync } from '@swc/core';

/**
 * A module of the tests that is written in TypeScript and imports nothing but types, for a script that runs without a
 * compiler: the invariants are written once, for the properties and for this.
 */
export async function loadTypeScript(url) {
  const { code } = transformSync(readFileSync(url, 'utf8'), {
    jsc: { parser: { syntax: 'typescript' }, target: 'es2022' },
    module: { type: 'es6' },
  });
  return import(`data:text/javascript;base64,${Buffer.from(code).toString('base64')}`);
}
