import { Injectable } from '@nestjs/common';
import { BrokerError } from '../base/errors/broker-error.js';
import { PayloadCipher } from '../encryption/payload-cipher.js';
import type { MessageAddress } from '../http/message-address.js';
import { RawSqlService } from '../raw-sql/raw-sql.service.js';
import { contentOfLetter, contentsIn, type MessageContent, readableContentsIn } from './message-content.js';
import {
  getMessageV1,
  type GroupMode,
  listMessagesV1,
  logGroupModeV1,
  logSegmentAtV1,
  type MessageDetailRow,
  type MessageRow,
} from './messages.procedures.js';
import type { MessageListRequest } from './messages.request.js';

export interface MessagePage {
  readonly rows: readonly MessageRow[];
  readonly mode: GroupMode;
}

/** A row with what its segment says; null when that is gone or damaged. */
export interface ListedMessage {
  readonly row: MessageRow;
  readonly content: MessageContent | null;
}

/** Reads messages for people: by page, and one by its address. */
@Injectable()
export class MessagesService {
  constructor(
    private readonly rawSql: RawSqlService,
    private readonly cipher: PayloadCipher,
  ) {}

  async page(request: MessageListRequest): Promise<MessagePage> {
    const rows = await this.rawSql.call(listMessagesV1, request);
    const partitionIds = [...new Set(rows.map(({ partitionId }) => partitionId))];
    return { rows, mode: await this.rawSql.callOne(logGroupModeV1, partitionIds) };
  }

  /** The rows with their content, one segment after the other: only one is in memory at a time. */
  async *withContents(rows: readonly MessageRow[]): AsyncGenerator<readonly ListedMessage[]> {
    for (const inSegment of bySegment(rows)) {
      const [{ partitionId, offset, base }] = inSegment;
      const [segment] = await this.rawSql.call(logSegmentAtV1, { partitionId, offset });
      const offsets = inSegment.map((row) => row.offset);
      const contents = segment?.base === base ? readableContentsIn(segment, offsets) : null;
      yield inSegment.map((row, i) => ({ row, content: contents ? this.opened(contents[i]) : null }));
    }
  }

  /** @throws BrokerError `message_not_found`, `segment_damaged` */
  async detail(address: MessageAddress): Promise<{ row: MessageDetailRow; content: MessageContent | null }> {
    const [row] = await this.rawSql.call(getMessageV1, address);
    if (!row) throw new BrokerError('message_not_found', 'Message not found');
    const { segment, offset, letter } = row;
    const content = segment
      ? contentsIn(segment, [offset])[0]
      : letter && contentOfLetter(address.transactionId, letter);
    return { row, content: content && this.opened(content) };
  }

  private opened(content: MessageContent): MessageContent {
    const payload = this.cipher.openText(content.payload, content.encrypted);
    return payload === null ? content : { ...content, payload, encrypted: true };
  }
}

/** The messages of one segment stand together: they share commit time and partition, by which the page is ordered. */
function bySegment(rows: readonly MessageRow[]): MessageRow[][] {
  const groups: MessageRow[][] = [];
  let last: MessageRow | null = null;
  for (const row of rows) {
    if (last && last.partitionId === row.partitionId && last.base === row.base) groups.at(-1)!.push(row);
    else groups.push([row]);
    last = row;
  }
  return groups;
}
