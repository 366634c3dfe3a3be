import { fromHex } from './bytes.ts';
import { canonicalize } from './canonical.ts';
import { MAX_DOCUMENT_BYTES, readCanonical } from './document.ts';
import { type Frontier, frontierLength } from './merkle.ts';
import { ZERO_HASH } from './record.ts';
import { type Found, found, missed } from './report.ts';
import {
  anyObject,
  constant,
  describeMismatch,
  hash,
  listOf,
  objectOf,
  positiveInteger,
  type Shape,
} from './shape.ts';

export const JOURNAL_FORMAT = 'palisade-journal/v1';

/** How the line of the final checkpoint starts; no record and no header starts so. */
export const CHECKPOINT_LINE_START = '{"checkpoint":';

/** Where an export starts: the frontier of the tree and the hash of the record before its first record. */
export type ExportHeader = {
  readonly first: number;
  readonly frontier: readonly string[];
  readonly prev: string;
};

const HEADER: Shape = objectOf({
  first: positiveInteger,
  format: constant(JOURNAL_FORMAT),
  frontier: listOf(hash),
  prev: hash,
});
const CHECKPOINT_LINE: Shape = objectOf({ checkpoint: anyObject });

/** The first line of an export, without its line feed. */
export function encodeExportHeader({ first, frontier, prev }: ExportHeader): string {
  return canonicalize({ first, format: JOURNAL_FORMAT, frontier, prev });
}

/** The last line of an export, without its line feed; the checkpoint is handed in as the text of its envelope. */
export function encodeExportCheckpoint(envelope: string): string {
  return canonicalize({ checkpoint: JSON.parse(envelope) });
}

/** The header in a line, once its frontier can be that of the records before the first. */
export function readHeader(line: string): Found<ExportHeader> {
  const read = readLine(line, HEADER);
  if (!read.ok) return read;
  const header = read.value as ExportHeader;
  const { first, frontier, prev } = header;
  const length = frontierLength(first - 1);
  if (frontier.length !== length) {
    return missed(
      `field "frontier" has ${frontier.length} hashes, expected ${length} before record ${first}`,
    );
  }
  if (first === 1 && prev !== ZERO_HASH)
    return missed('field "prev" is not 64 zeros, expected so before record 1');
  // After an odd number of records the last subtree is the last record itself.
  if (first % 2 === 0 && frontier.at(-1) !== prev)
    return missed('field "prev" is not the last hash of "frontier"');
  return found(header, `starts at record ${first}`);
}

/** The envelope in the last line, still to be verified. */
export function readCheckpointLine(line: string): Found<object> {
  const read = readLine(line, CHECKPOINT_LINE);
  return read.ok ? found((read.value as { checkpoint: object }).checkpoint, read.detail) : read;
}

/** The tree before the first record of an export. */
export function headerFrontier({ first, frontier }: ExportHeader): Frontier {
  return { size: first - 1, hashes: frontier.map((hex) => fromHex(hex) ?? new Uint8Array()) };
}

function readLine(line: string, shape: Shape): Found<unknown> {
  if (line.length > MAX_DOCUMENT_BYTES) return missed(`the line has more than ${MAX_DOCUMENT_BYTES} bytes`);
  const read = readCanonical(line);
  if (!read.ok) return read;
  const mismatch = shape(read.value.value);
  return mismatch === null ? found(read.value.value, read.detail) : missed(describeMismatch(mismatch));
}
