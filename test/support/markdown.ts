import { readFileSync } from 'node:fs';

export interface Block {
  /** First word behind the fence. */
  language: string;
  /** What stands behind it: for `ts`, the file that the block is taken from. */
  info: string;
  body: string;
  /** Of the fence, counted from 1. */
  line: number;
}

/** The fenced blocks of a page, in order. */
export function blocksOf(path: string): Block[] {
  const text = readFileSync(path, 'utf8');
  return [...text.matchAll(/^```(\w*) ?([^\n]*)\n([\s\S]*?)^```$/gm)].map((match) => ({
    language: match[1],
    info: match[2].trim(),
    body: match[3],
    line: text.slice(0, match.index).split('\n').length,
  }));
}

/** JSON documents one behind the other, as several commands print them. */
export function jsonIn(text: string): unknown[] {
  try {
    return [JSON.parse(text)];
  } catch {
    return text
      .replaceAll(/(?<=[}\]])(?=[{[])/g, '\n') // curl ends no line
      .split('\n')
      .filter((line) => line.trim() !== '')
      .map((line) => JSON.parse(line) as unknown);
  }
}
