import type { Server } from 'node:tls';
import { Logger } from '@nestjs/common';
import type { Environment } from '../base/config/environment.js';
import { Loop } from '../base/loop/loop.js';
import { expiryOf, isSame, readTlsFiles, type TlsMaterial } from './tls-files.js';

/** Who renews certificates replaces the files, and seldom can send a signal. */
const LOOK_PERIOD_MS = 5_000;
const WARN_BEFORE_EXPIRY_MS = 14 * 24 * 3_600_000;
const DAY_MS = 24 * 3_600_000;

/**
 * The certificate of the listener. New connections get what the files hold, a few seconds after they were replaced. Files
 * that do not fit together (they are being replaced one after the other) change nothing.
 */
export class Tls {
  private readonly logger = new Logger('TLS');
  private readonly loop = new Loop('tls', LOOK_PERIOD_MS, async () => this.look());
  private server: Server | null = null;
  private warnedAtMs = -Infinity;

  private constructor(
    private readonly environment: Environment,
    private material: TlsMaterial,
  ) {}

  /** Null: the broker speaks plain HTTP. @throws Error that names the setting at fault */
  static from(environment: Environment): Tls | null {
    if (environment.QUEEN_TLS_CERT_FILE === '') return null;
    return new Tls(environment, readTlsFiles(environment));
  }

  /** For the making of a server. */
  get options(): TlsMaterial & {
    requestCert: boolean;
    rejectUnauthorized: boolean;
    handshakeTimeout: number;
  } {
    const asksClients = this.material.ca !== undefined;
    return {
      ...this.material,
      requestCert: asksClients,
      rejectUnauthorized: asksClients,
      handshakeTimeout: this.environment.QUEEN_HEADERS_TIMEOUT_MS,
    };
  }

  /** Keeps the certificate of this server up to date until it is stopped. */
  keep(server: Server): void {
    this.server = server;
    this.warnOfExpiry();
    this.loop.start();
  }

  stop(): Promise<void> {
    return this.loop.stop();
  }

  private look(): void {
    const material = readTlsFiles(this.environment);
    if (!isSame(material, this.material)) {
      this.server?.setSecureContext(material);
      this.material = material;
      this.logger.log(`new certificate, good until ${new Date(expiryOf(material)).toISOString()}`);
      this.warnedAtMs = -Infinity;
    }
    this.warnOfExpiry();
  }

  /** Once a day. */
  private warnOfExpiry(): void {
    const expiresAtMs = expiryOf(this.material);
    if (expiresAtMs - Date.now() > WARN_BEFORE_EXPIRY_MS) return;
    if (performance.now() - this.warnedAtMs < DAY_MS) return;
    this.warnedAtMs = performance.now();
    this.logger.warn(`the certificate is good only until ${new Date(expiresAtMs).toISOString()}`);
  }
}
