/**
 * One-dimensional PostgreSQL arrays in the binary protocol format. pg would send an array of buffers as hex text,
 * twice the bytes and a parse on the server; a Buffer parameter goes as it is and `array_recv` reads it.
 * Layout: dimensions, has-null flag, element type id, then length and lower bound, then size-prefixed elements.
 */
const HEADER = 20;

const OID = { bool: 16, bytea: 17, int8: 20, int4: 23, text: 25, uuid: 2950 } as const;

export function byteaArray(values: readonly (Buffer | null)[]): Buffer {
  let size = HEADER;
  for (const value of values) size += 4 + (value ? value.length : 0);
  const out = start(OID.bytea, values.length, size);
  let at = HEADER;
  for (const value of values) {
    if (!value) {
      at = out.writeInt32BE(-1, at);
      out.writeInt32BE(1, 4);
      continue;
    }
    at = out.writeInt32BE(value.length, at);
    at += value.copy(out, at);
  }
  return values.length === 0 ? empty(OID.bytea) : out;
}

export function textArray(values: readonly (string | null)[]): Buffer {
  if (values.length === 0) return empty(OID.text);
  let size = HEADER;
  for (const value of values) size += 4 + (value === null ? 0 : Buffer.byteLength(value));
  const out = start(OID.text, values.length, size);
  let at = HEADER;
  for (const value of values) {
    if (value === null) {
      at = out.writeInt32BE(-1, at);
      out.writeInt32BE(1, 4);
      continue;
    }
    const length = out.write(value, at + 4);
    out.writeInt32BE(length, at);
    at += 4 + length;
  }
  return out;
}

export function int4Array(values: readonly number[]): Buffer {
  if (values.length === 0) return empty(OID.int4);
  const out = start(OID.int4, values.length, HEADER + values.length * 8);
  let at = HEADER;
  for (const value of values) {
    at = out.writeInt32BE(4, at);
    at = out.writeInt32BE(value, at);
  }
  return out;
}

export function int8Array(values: readonly number[]): Buffer {
  if (values.length === 0) return empty(OID.int8);
  const out = start(OID.int8, values.length, HEADER + values.length * 12);
  let at = HEADER;
  for (const value of values) {
    at = out.writeInt32BE(8, at);
    at = out.writeBigInt64BE(BigInt(value), at);
  }
  return out;
}

export function boolArray(values: readonly boolean[]): Buffer {
  if (values.length === 0) return empty(OID.bool);
  const out = start(OID.bool, values.length, HEADER + values.length * 5);
  let at = HEADER;
  for (const value of values) {
    at = out.writeInt32BE(1, at);
    at = out.writeUInt8(value ? 1 : 0, at);
  }
  return out;
}

/** `values` are 36-character uuid texts; anything else is refused by the caller before it gets here. */
export function uuidArray(values: readonly string[]): Buffer {
  if (values.length === 0) return empty(OID.uuid);
  const out = start(OID.uuid, values.length, HEADER + values.length * 20);
  let at = HEADER;
  for (const value of values) {
    at = out.writeInt32BE(16, at);
    out.write(value.replaceAll('-', ''), at, 16, 'hex');
    at += 16;
  }
  return out;
}

function start(typeId: number, count: number, size: number): Buffer {
  const out = Buffer.allocUnsafe(size);
  out.writeInt32BE(1, 0);
  out.writeInt32BE(0, 4);
  out.writeInt32BE(typeId, 8);
  out.writeInt32BE(count, 12);
  out.writeInt32BE(1, 16);
  return out;
}

function empty(typeId: number): Buffer {
  const out = Buffer.alloc(12);
  out.writeInt32BE(typeId, 8);
  return out;
}
