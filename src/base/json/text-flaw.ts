/** Why PostgreSQL (`text` is UTF-8 without U+0000) could not hold a text as it is. */
export type TextFlaw = 'U+0000' | 'a lone surrogate';

// With the u flag a pair is one character, so only an unpaired half matches.
const LONE_SURROGATE = /\p{Surrogate}/u;
const FLAWS = /\0|\p{Surrogate}/gu;

/** JSON escapes can spell both flaws; a string without escapes in valid UTF-8 has neither. */
export function textFlaw(text: string): TextFlaw | null {
  if (text.includes('\0')) return 'U+0000';
  return LONE_SURROGATE.test(text) ? 'a lone surrogate' : null;
}

/** For texts that only people read (the reason in a nack): each flaw becomes U+FFFD, the rest stays. */
export function withoutFlaws(text: string): string {
  return text.replace(FLAWS, '\ufffd');
}
