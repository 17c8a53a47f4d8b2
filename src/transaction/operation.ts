import type { AckItem } from '../ack/ack-item.js';
import type { PushItem } from '../push/push-item.js';

/** One entry of the reply: a message to store, or a verdict on one that was handed out. */
export type Operation =
  | { readonly kind: 'push'; readonly item: PushItem }
  | { readonly kind: 'ack'; readonly ack: AckItem; readonly group: string };
