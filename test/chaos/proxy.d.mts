export type ProxyMode = 'pass' | 'delay' | 'silence' | 'lose' | 'cut';

export class Proxy {
  static start(target: number): Promise<Proxy>;
  readonly port: number;
  set(mode: ProxyMode, delayMs?: number): void;
  stop(): Promise<void>;
}
