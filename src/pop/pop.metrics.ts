import { Injectable } from '@nestjs/common';
import { BrokerError } from '../base/errors/broker-error.js';
import { WaitExpiredError } from '../limiter/lane.js';
import type { PopPath } from './candidate-source/candidate-source.js';

export type PopResult =
  'data' | 'empty' | 'quiet' | 'client_gone' | 'pool' | 'timeout' | 'overloaded' | 'failed';

export interface PopStats {
  requests: number;
  messages: number;
  /** Attempts by `path result`. */
  attempts: ReadonlyMap<string, number>;
}

/** What pops did since the start: attempts (looks and claims) by path and result, requests and messages. */
@Injectable()
export class PopMetrics {
  private requests = 0;
  private messages = 0;
  private readonly attempts = new Map<string, number>();

  request(): void {
    this.requests += 1;
  }

  delivered(messages: number): void {
    this.messages += messages;
  }

  attempt(path: PopPath, result: PopResult): void {
    const key = `${path} ${result}`;
    this.attempts.set(key, (this.attempts.get(key) ?? 0) + 1);
  }

  failure(path: PopPath, error: unknown): void {
    this.attempt(path, resultOf(error));
  }

  stats(): PopStats {
    return { requests: this.requests, messages: this.messages, attempts: this.attempts };
  }
}

function resultOf(error: unknown): PopResult {
  if (error instanceof WaitExpiredError) return 'empty';
  if (!(error instanceof BrokerError)) return 'client_gone';
  if (error.code === 'pool') return 'pool';
  if (error.code === 'statement_timeout') return 'timeout';
  if (error.code === 'overloaded') return 'overloaded';
  return 'failed';
}
