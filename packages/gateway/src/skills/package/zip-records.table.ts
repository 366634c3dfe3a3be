/**
 * The records of a ZIP file, field by field. A value is the only one that a package has there; null: it follows from
 * the contents. So an archive has no field that its maker could choose: no time, no mode, no link, no comment, no
 * extra field, no compression, no encryption, no sizes that come later.
 */
export type ZipField = {
  readonly name: string;
  readonly bytes: 2 | 4;
  readonly value: number | null;
  /** What the value means, where the number does not say it. */
  readonly means: string | null;
};

function field(name: string, bytes: 2 | 4, value: number | null, means: string | null = null): ZipField {
  return { name, bytes, value, means };
}

/** What both headers of an entry have in common. */
const ENTRY_FIELDS = [
  field('version', 2, 10, 'what every reader can read'),
  field('flags', 2, 0, 'no encryption and no sizes behind the contents'),
  field('method', 2, 0, 'stored, not compressed'),
  field('time', 2, 0, 'midnight'),
  field('date', 2, 0x0021, '1980-01-01'),
  field('CRC-32', 4, null),
  field('stored size', 4, null),
  field('size', 4, null),
  field('path length', 2, null),
  field('extra length', 2, 0, 'no extra field'),
] as const;

export const LOCAL_HEADER: readonly ZipField[] = [
  field('signature', 4, 0x04034b50, 'the header of an entry'),
  ...ENTRY_FIELDS,
];

export const DIRECTORY_HEADER: readonly ZipField[] = [
  field('signature', 4, 0x02014b50, 'a line of the directory'),
  field('maker', 2, 10, 'a system without links and modes'),
  ...ENTRY_FIELDS,
  field('comment length', 2, 0, 'no comment'),
  field('disk', 2, 0),
  field('internal attributes', 2, 0),
  field('external attributes', 4, 0, 'a plain file'),
  field('offset', 4, null),
];

export const END_RECORD: readonly ZipField[] = [
  field('signature', 4, 0x06054b50, 'the end of the archive'),
  field('disk', 2, 0),
  field('directory disk', 2, 0),
  field('entries on this disk', 2, null),
  field('entries', 2, null),
  field('directory size', 4, null),
  field('directory offset', 4, null),
  field('comment length', 2, 0, 'no comment and nothing behind'),
];
