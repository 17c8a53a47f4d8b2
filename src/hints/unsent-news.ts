import type { Hint } from './hint.js';

const NEWS_MAX = 1000;

/**
 * What administration changed while hints could not be sent: it goes out when they can. A lost mark costs one reseed
 * interval, but a pause or a deletion that others do not hear of would act there much later. Beyond the bound, brokers
 * are told to read everything again.
 */
export class UnsentNews {
  private news: Hint[] = [];
  private isOverfull = false;

  /** Returns how many of the hints are given up. */
  keep(hints: readonly Hint[]): number {
    const news = hints.filter(isNews);
    const room = NEWS_MAX - this.news.length;
    if (news.length > room) this.isOverfull = true;
    this.news.push(...news.slice(0, room));
    return hints.length - Math.min(news.length, room);
  }

  take(): Hint[] {
    const news: Hint[] = this.isOverfull ? [...this.news, { kind: 'reconcile' }] : this.news;
    this.news = [];
    this.isOverfull = false;
    return news;
  }
}

function isNews({ kind }: Hint): boolean {
  return kind === 'configured' || kind === 'dropped' || kind === 'reconcile';
}
