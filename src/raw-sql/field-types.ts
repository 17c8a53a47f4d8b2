import pg from 'pg';
import { BrokerError } from '../base/errors/broker-error.js';

type Decode = (bytes: Buffer) => unknown;

const MICROS_FROM_1970_TO_2000 = 946_684_800_000_000;

/** int8 to number. Offsets above 2^53-1 would silently round, so they are refused (field case A09). */
export function decodeInt8(bytes: Buffer): number {
  const value = bytes.readBigInt64BE(0);
  if (value > 9007199254740991n || value < -9007199254740991n) throw new BrokerError('offset_too_large');
  return Number(value);
}

/** timestamptz to microseconds since 1970; infinities become ±Infinity. */
export function decodeTimestamp(bytes: Buffer): number {
  const value = bytes.readBigInt64BE(0);
  if (value === 9223372036854775807n) return Infinity;
  if (value === -9223372036854775808n) return -Infinity;
  return Number(value) + MICROS_FROM_1970_TO_2000;
}

function decodeUuid(bytes: Buffer): string {
  const hex = bytes.toString('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}

const text: Decode = (bytes) => bytes.toString('utf8');

const binaryDecoders: Record<number, Decode> = {
  16: (bytes) => bytes[0] === 1, // bool
  17: (bytes) => bytes, // bytea
  18: text, // "char"
  19: text, // name
  20: decodeInt8,
  21: (bytes) => bytes.readInt16BE(0),
  23: (bytes) => bytes.readInt32BE(0),
  25: text,
  26: (bytes) => bytes.readUInt32BE(0), // oid
  114: (bytes) => JSON.parse(bytes.toString('utf8')) as unknown, // json
  700: (bytes) => bytes.readFloatBE(0),
  701: (bytes) => bytes.readDoubleBE(0),
  705: text, // unknown
  1043: text, // varchar
  1184: decodeTimestamp,
  2278: () => null, // void
  2950: decodeUuid,
  3802: (bytes) => JSON.parse(bytes.toString('utf8', 1)) as unknown, // jsonb: version byte, then text
};

/** What pg asks for a parser by type id and format; fields arrive as bytes in both formats. */
export const fieldTypes = {
  getTypeParser(typeId: number, format: 'text' | 'binary' = 'text'): Decode {
    if (format === 'binary') {
      const decode = binaryDecoders[typeId];
      if (decode) return decode;
      return () => {
        throw new Error(`no binary decoder for PostgreSQL type ${typeId}: cast it in the statement`);
      };
    }
    const parse = pg.types.getTypeParser(typeId, 'text') as (value: string) => unknown;
    return (bytes) => parse(bytes.toString('utf8'));
  },
};
