import { Injectable } from '@nestjs/common';
import { AckService } from '../ack/ack.service.js';
import { AckByHash } from '../ack/by-hash.js';
import { PopMetrics } from '../pop/pop.metrics.js';
import { PutAside } from '../pop/put-aside.js';
import { PushService } from '../push/push.service.js';
import { RawSqlService } from '../raw-sql/raw-sql.service.js';

/** What this broker did since it started; every number only rises. */
export interface ActivityCounts {
  pushRequests: number;
  pushMessages: number;
  popRequests: number;
  popMessages: number;
  ackRequests: number;
  ackMessages: number;
  ackFailures: number;
  deadLetters: number;
  databaseErrors: number;
}

@Injectable()
export class Activity {
  constructor(
    private readonly pushes: PushService,
    private readonly pops: PopMetrics,
    private readonly putAside: PutAside,
    private readonly acks: AckService,
    private readonly acksByHash: AckByHash,
    private readonly rawSql: RawSqlService,
  ) {}

  counts(): ActivityCounts {
    const push = this.pushes.stats();
    const pop = this.pops.stats();
    const ack = this.acks.stats();
    return {
      pushRequests: push.requests,
      pushMessages: push.messages,
      popRequests: pop.requests,
      popMessages: pop.messages,
      ackRequests: ack.requests,
      ackMessages: ack.items,
      ackFailures: ack.failures + this.acksByHash.stats().refused,
      deadLetters: this.acksByHash.stats().deadLetters + this.putAside.stats().filed,
      databaseErrors: this.rawSql.stats().statementErrors,
    };
  }
}
