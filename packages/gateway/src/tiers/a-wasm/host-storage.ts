import type { Space, StorageRefusal } from '../../storage/space.ts';
import type { AbiError } from './engine/abi.table.ts';
import type { Reply } from './engine-process.ts';
import { answerWith, DONE, refuseWith } from './host-answer.ts';

const VERSION_BYTES = 8;
const MOST_KEYS = 1_000;
/** Whatever is there, and only where nothing is. */
const [ANY, ABSENT] = [-1, 0];

const ERRORS: Readonly<Record<StorageRefusal['why'], AbiError>> = {
  'invalid-key': 'invalid',
  denied: 'denied',
  'too-large': 'tooLarge',
  full: 'full',
  conflict: 'conflict',
  busy: 'full',
};

export async function getStored(space: Space, key: string, mostBytes: number): Promise<Reply> {
  const got = await space.get(key);
  if (!got.ok) return refuseWith(ERRORS[got.why]);
  if (got.found === null) return refuseWith('missing');
  const { value, version } = got.found;
  const answer = Buffer.alloc(VERSION_BYTES + value.length);
  answer.writeDoubleLE(version, 0);
  answer.set(value, VERSION_BYTES);
  return answerWith(answer, mostBytes);
}

export async function putStored(
  space: Space,
  key: string,
  value: Uint8Array,
  version: number,
): Promise<Reply> {
  const wanted = versionOf(version);
  if (wanted === null) return refuseWith('invalid');
  const put = await space.put(key, value, wanted === 'any' ? {} : { ifVersion: wanted });
  return put.ok ? DONE : refuseWith(ERRORS[put.why]);
}

export async function deleteStored(space: Space, key: string, version: number): Promise<Reply> {
  const wanted = versionOf(version);
  if (wanted === null || wanted === 'absent') return refuseWith('invalid');
  const deleted = await space.delete(key, wanted === 'any' ? {} : { ifVersion: wanted });
  return deleted.ok ? DONE : refuseWith(ERRORS[deleted.why]);
}

export async function listStored(
  space: Space,
  asked: { readonly prefix: string; readonly after: string; readonly limit: number },
  mostBytes: number,
): Promise<Reply> {
  const { prefix, after } = asked;
  const limit = Math.max(1, Math.min(asked.limit, MOST_KEYS));
  const listed = await space.list(prefix, { limit, ...(after === '' ? {} : { after }) });
  if (!listed.ok) return refuseWith(ERRORS[listed.why]);
  return answerWith(Buffer.from(JSON.stringify(listed.entries.map(({ key }) => key))), mostBytes);
}

function versionOf(version: number): number | 'any' | 'absent' | null {
  if (version === ANY) return 'any';
  if (version === ABSENT) return 'absent';
  return Number.isSafeInteger(version) && version > 0 ? version : null;
}
