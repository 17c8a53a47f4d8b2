import { readdirSync, readFileSync } from 'node:fs';
import { join, posix, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));

export interface Import {
  /** As written: `../base/fifo.js`, `pg`. */
  specifier: string;
  /** For one of ours, its path from src: `base/fifo.ts`. */
  file: string | null;
  /** Gone after compilation. */
  typeOnly: boolean;
}

export interface SourceFile {
  /** From src: `push/push.service.ts`. */
  path: string;
  /** Top folder, or the file itself at the top. */
  module: string;
  text: string;
  imports: Import[];
}

/** Files below a folder of the repository, as paths from that folder, sorted. */
export function filesBelow(folder: string, ending: string): string[] {
  const base = join(ROOT, folder);
  return readdirSync(base, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith(ending))
    .map((entry) => relative(base, join(entry.parentPath, entry.name)).split(sep).join('/'))
    .sort();
}

export function readText(path: string): string {
  return readFileSync(join(ROOT, path), 'utf8');
}

/** The broker's own files, without specs. */
export function sources(): SourceFile[] {
  return filesBelow('src', '.ts')
    .filter((path) => !path.endsWith('.spec.ts'))
    .map((path) => {
      const text = readText(`src/${path}`);
      return { path, module: path.split('/')[0], text, imports: importsOf(path, text) };
    });
}

function importsOf(path: string, text: string): Import[] {
  const statement = /^\s*(?:import|export)\s+(type\s)?[^;'"]*?from\s+'([^']+)'|import\(\s*'([^']+)'\s*\)/gm;
  return [...withoutComments(text).matchAll(statement)].map(([, type, fixed, lazy]) => {
    const specifier = fixed ?? lazy;
    const own = specifier.startsWith('.')
      ? posix.join(posix.dirname(path), specifier).replace(/\.js$/, '.ts')
      : null;
    return { specifier, file: own, typeOnly: type !== undefined };
  });
}

/** The text with comments blanked out; strings, templates and regular expressions stay. */
export function withoutComments(text: string): string {
  const token =
    /'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"|`(?:[^`\\]|\\.)*`|\/\*[\s\S]*?\*\/|\/\/[^\n]*|(?<=[=(,:[!&|?{};]\s*)\/(?![*/])(?:[^/\\[\n]|\\.|\[(?:[^\]\\\n]|\\.)*\])+\/[a-z]*/g;
  return text.replace(token, (found) => (/^\/[*/]/.test(found) ? found.replace(/[^\n]/g, ' ') : found));
}

/** What stands between quotes or backticks, comments left out. */
export function literals(text: string): string[] {
  const literal = /'((?:[^'\\\n]|\\.)*)'|"((?:[^"\\\n]|\\.)*)"|`((?:[^`\\]|\\.)*)`/g;
  return [...withoutComments(text).matchAll(literal)].map(
    ([, single, double, template]) => single ?? double ?? template,
  );
}
