/** What a pop ends in: the finished answer, or nothing. */
export type Delivery = { readonly count: 0 } | { readonly count: number; readonly body: Buffer };

export const nothing: Delivery = { count: 0 };
