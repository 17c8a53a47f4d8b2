import type { PopRequest } from '../pop.request.js';
import type { CandidateSource } from './candidate-source.js';

/** What a module of a team's own provides under OWN_SOURCES to find candidates in a further way (docs/extending.md). */
export interface OwnSources {
  /** The source for this request; null: the broker's own ways. Asked for every round of every pop, so from memory. */
  sourceFor(request: PopRequest): CandidateSource | null;
}

export const OWN_SOURCES = Symbol('OwnSources');
