import { Inject, Injectable, Optional } from '@nestjs/common';
import { PushSpool, type SpoolStats } from '../base/spool/push-spool.js';

const NOTHING: SpoolStats = {
  ...{ pending: 0, failed: 0, dbHealthy: true, diskHealthy: true, files: 0, bytes: 0 },
  ...{ failedFiles: 0, failedBytes: 0, written: 0, writeFailures: 0, replayed: 0, oldestAgeMs: null },
};

export interface BufferReply {
  bufferedMessages: number;
  bufferHealthy: boolean;
  bufferStats: {
    pendingCount: number;
    failedCount: number;
    dbHealthy: boolean;
    diskHealthy: boolean;
    pendingFiles: number;
    pendingBytes: number;
    /** Age of the oldest message waiting; compare it with the dedup windows of queues. */
    oldestAgeSeconds: number | null;
    failedFiles: { count: number; totalBytes: number; totalMB: number; failoverCount: number; qos0Count: 0 };
  };
}

const MB = 1024 * 1024;

/** The spool as the maintenance routes tell of it (http-api 4.6). */
@Injectable()
export class BufferReplies {
  constructor(@Optional() @Inject(PushSpool) private readonly spool: PushSpool | null = null) {}

  get(): BufferReply {
    const stats = this.spool?.stats() ?? NOTHING;
    return {
      bufferedMessages: stats.pending,
      bufferHealthy: stats.dbHealthy && stats.diskHealthy,
      bufferStats: {
        pendingCount: stats.pending,
        failedCount: stats.failed,
        dbHealthy: stats.dbHealthy,
        diskHealthy: stats.diskHealthy,
        pendingFiles: stats.files,
        pendingBytes: stats.bytes - stats.failedBytes,
        oldestAgeSeconds: stats.oldestAgeMs === null ? null : Math.round(stats.oldestAgeMs / 1000),
        failedFiles: {
          count: stats.failedFiles,
          totalBytes: stats.failedBytes,
          totalMB: Math.round((stats.failedBytes / MB) * 100) / 100,
          failoverCount: stats.failedFiles,
          qos0Count: 0,
        },
      },
    };
  }
}
