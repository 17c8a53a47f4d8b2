import type { Final, Step, Violation } from './check.mjs';

export function report(violations: Violation[], steps: Step[], final: Final): string;
