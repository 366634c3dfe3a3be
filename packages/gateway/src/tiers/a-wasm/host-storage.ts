import { orElse } from '../../core/result.ts';
import type { StorageGrant } from '../../core/wasm.ts';
import type { Space } from '../../storage/space.ts';
import type { StorageRefusal } from '../../storage/values.ts';
import type { DenialWhy } from './denials.table.ts';
import { ABI_ERRORS, type AbiError, VERSIONS } from './engine/abi.table.ts';
import type { HostReply } from './engine-process.ts';
import { answerWith, DONE, denyWith, refuseWith } from './host-answer.ts';
import type { GatewayHandler } from './host-functions.ts';

const VERSION_BYTES = 8;
const MOST_KEYS = 1_000;
const NO_BYTES = new Uint8Array(0);
const DECODER = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

const ERRORS: Readonly<Record<StorageRefusal['why'], AbiError>> = {
  'invalid-key': 'invalid',
  denied: 'denied',
  'too-large': 'tooLarge',
  full: 'full',
  conflict: 'conflict',
  busy: 'full',
};

type Handle = (space: Space, key: string, request: Parameters<GatewayHandler>[0]) => Promise<HostReply>;

/** The space of the request and its first text, which is a key or a prefix. */
function inSpace(isWrite: boolean, handle: Handle): GatewayHandler {
  return async (request, { spaces, grants }) => {
    const space = spaces[request.index];
    if (space === undefined) return denyWith('withheld', null);
    const key = textOf(request.texts[0]);
    if (key === null) return refuseWith('invalid');
    const reply = await handle(space, key, request);
    const why = whyRefused(reply, grants.storage[request.index], isWrite);
    return why === null ? reply : { ...reply, denial: { why, argument: key } };
  };
}

/** Why a request was denied, for the record; null where it was not. */
function whyRefused(
  { result }: HostReply,
  { read, write }: StorageGrant = { read: [], write: [] },
  isWrite: boolean,
): DenialWhy | null {
  if (result === ABI_ERRORS.full.code) return 'quota';
  if (result !== ABI_ERRORS.denied.code) return null;
  if (read.length === 0 && write.length === 0) return 'withheld';
  return isWrite && write.length === 0 ? 'read-only' : 'outside-prefixes';
}

export const storageHandlers = {
  storage_get: inSpace(false, async (space, key) => {
    const got = await space.get(key);
    if (!got.ok) return refuseWith(ERRORS[got.why]);
    if (got.found === null) return refuseWith('missing');
    const { value, version } = got.found;
    const answer = Buffer.alloc(VERSION_BYTES + value.length);
    answer.writeDoubleLE(version, 0);
    answer.set(value, VERSION_BYTES);
    return answerWith(answer);
  }),
  storage_put: inSpace(true, async (space, key, { texts: [, value = NO_BYTES], numbers: [version = 0] }) => {
    const wanted = versionOf(version);
    if (wanted === null) return refuseWith('invalid');
    const put = await space.put(key, value, wanted === 'any' ? {} : { ifVersion: wanted });
    return put.ok ? DONE : refuseWith(ERRORS[put.why]);
  }),
  storage_delete: inSpace(true, async (space, key, { numbers: [version = 0] }) => {
    const wanted = versionOf(version);
    if (wanted === null || wanted === 'absent') return refuseWith('invalid');
    const deleted = await space.delete(key, wanted === 'any' ? {} : { ifVersion: wanted });
    return deleted.ok ? DONE : refuseWith(ERRORS[deleted.why]);
  }),
  storage_list: inSpace(false, async (space, prefix, { texts, numbers: [most = 0] }) => {
    const after = textOf(texts[1]);
    if (after === null) return refuseWith('invalid');
    const limit = Math.max(1, Math.min(most, MOST_KEYS));
    const listed = await space.list(prefix, { limit, ...(after === '' ? {} : { after }) });
    if (!listed.ok) return refuseWith(ERRORS[listed.why]);
    return answerWith(Buffer.from(JSON.stringify(listed.entries.map(({ key }) => key))));
  }),
};

/** Boundary: invalid UTF-8 would be replaced, and two keys could become one. */
function textOf(bytes: Uint8Array = NO_BYTES): string | null {
  return orElse(() => DECODER.decode(bytes), null);
}

function versionOf(version: number): number | 'any' | 'absent' | null {
  if (version === VERSIONS.any) return 'any';
  if (version === VERSIONS.absent) return 'absent';
  return Number.isSafeInteger(version) && version > 0 ? version : null;
}
