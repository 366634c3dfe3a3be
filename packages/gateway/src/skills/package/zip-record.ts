import type { ZipField } from './zip-records.table.ts';

/** The values of a record's fields by their names. */
export type ZipValues = Readonly<Record<string, number>>;

export function recordBytes(fields: readonly ZipField[]): number {
  return fields.reduce((sum, { bytes }) => sum + bytes, 0);
}

/** Writes a record with the given values where the table has none. */
export function encodeRecord(fields: readonly ZipField[], values: ZipValues): Buffer {
  const record = Buffer.alloc(recordBytes(fields));
  let at = 0;
  for (const { name, bytes, value } of fields) at = record.writeUIntLE(value ?? values[name] ?? 0, at, bytes);
  return record;
}

/** The value of one field of the record at a place; the caller has seen that the record is there. */
export function fieldValue(fields: readonly ZipField[], name: string, bytes: Buffer, at: number): number {
  let offset = at;
  for (const field of fields) {
    if (field.name === name) return bytes.readUIntLE(offset, field.bytes);
    offset += field.bytes;
  }
  throw new TypeError(`Cannot read record: it has no field "${name}"`);
}

/** The first field of a record that is not as the table or the values say, if they say anything; null: all are. */
export function wrongField(
  fields: readonly ZipField[],
  values: ZipValues,
  bytes: Buffer,
  at: number,
): string | null {
  let offset = at;
  for (const { name, bytes: width, value, means } of fields) {
    const expected = value ?? values[name];
    const is = bytes.readUIntLE(offset, width);
    if (expected !== undefined && is !== expected) {
      return `its ${name} is ${is}, expected ${expected}${means === null ? '' : ` (${means})`}`;
    }
    offset += width;
  }
  return null;
}
