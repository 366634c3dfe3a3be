import { describe, expect, it } from 'vitest';
import { ABI_ERRORS, type AbiName } from '../../../src/tiers/a-wasm/engine/abi.table.ts';
import type { GuestRequest, HostReply } from '../../../src/tiers/a-wasm/engine-process.ts';
import { PendingRequest } from '../../../src/tiers/a-wasm/recorder.ts';

const question = (name: AbiName): GuestRequest => ({
  head: { name, numbers: [], lengths: [] },
  bytes: new Uint8Array(0),
});

/** What is left of a question that is answered only after its engine is gone. */
async function left(name: AbiName, answer: () => Promise<HostReply>) {
  const open = new PendingRequest();
  let begin: () => void = () => undefined;
  const begun = new Promise<void>((resolve) => {
    begin = resolve;
  });
  const answered = open
    .around(() => begun.then(answer))(question(name))
    .catch(() => null);
  const leaving = open.leave();
  begin();
  await answered;
  return leaving;
}

describe('a question that its guest never hears the answer to', () => {
  it.each<[AbiName, number, string]>([
    ['storage_put', 0, 'done'],
    ['http_request', 120, 'done'],
    ['storage_put', ABI_ERRORS.conflict.code, 'refused'],
    ['http_request', ABI_ERRORS.denied.code, 'refused'],
    ['http_request', ABI_ERRORS.unavailable.code, 'unknown'],
    ['http_request', ABI_ERRORS.tooSlow.code, 'unknown'],
  ])('%s, answered with %i, is %s', async (name, result, fate) => {
    expect(await left(name, async () => ({ result }))).toEqual({ name, fate });
  });

  it('is unknown when the answer broke', async () => {
    const broken = () => Promise.reject(new Error('broken'));
    expect(await left('storage_put', broken)).toEqual({ name: 'storage_put', fate: 'unknown' });
  });

  it('is none where it was answered before, or where there was none', async () => {
    const open = new PendingRequest();
    expect(await open.leave()).toBeNull();
    await open.around(async () => ({ result: 0 }))(question('storage_put'));
    expect(await open.leave()).toBeNull();
  });
});
