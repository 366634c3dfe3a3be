import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { openGateway, openRecords, systemRandom } from '../../../src/open.ts';
import { runInside } from './fake-edge.ts';
import { makeScratch } from './palisade.ts';

const OUTSIDE = {
  ...{ openGateway, openRecords, random: systemRandom },
  clock: { nowMs: () => Date.now(), monotonicMs: () => performance.now() },
};
const scratch = makeScratch();
const LONG = ['palisade.sleep', '--input', '{"ms":60000}', '--as', 'agent:ada'];

/** Commands in one state directory. */
function inside(name: string) {
  const state = join(scratch, name);
  const run = (...words: string[]) => runInside([...words, '--state', state], OUTSIDE);
  const json = async (...words: string[]) => JSON.parse((await run(...words, '--json')).out);
  const ask = async () => {
    const { message } = await json('call', ...LONG);
    return /apr_[a-z0-9]+/.exec(message)?.[0] ?? '';
  };
  return { run, json, ask };
}

describe('palisade policy explain', () => {
  test('tells of the request about this very call as it stands, and agrees with the call', async () => {
    const { run, json, ask } = inside('standing');
    expect(await json('policy', 'explain', ...LONG)).toMatchObject({ verdict: 'ask', approval: null });
    const id = await ask();
    expect(await json('policy', 'explain', ...LONG)).toMatchObject({
      verdict: 'ask',
      approval: { id, state: 'pending' },
    });
    await run('approvals', 'approve', id, '--as', 'user:grace');
    const { status, out } = await run('policy', 'explain', ...LONG);
    expect(out).toContain('allowed  agent:ada calls palisade.sleep');
    expect(out).toContain(`approval ${id} is approved: the call would run with it, once`);
    expect(status).toBe(0);
    const other = ['palisade.sleep', '--input', '{"ms":60001}', '--as', 'agent:ada'];
    expect(await json('policy', 'explain', ...other)).toMatchObject({ verdict: 'ask', approval: null });
    // It was only explained: the approval is still there for the call.
    expect(await json('call', ...LONG, '--timeout', '1')).toMatchObject({ code: 'tier/timed-out' });
    expect(await json('policy', 'explain', ...LONG)).toMatchObject({ verdict: 'ask', approval: null });
  });

  test('tells that the request was denied', async () => {
    const { run, json, ask } = inside('denied');
    const id = await ask();
    await run('approvals', 'deny', id, '--as', 'user:grace');
    expect(await json('policy', 'explain', ...LONG)).toMatchObject({
      verdict: 'ask',
      approval: { id, state: 'denied' },
    });
    expect(await json('call', ...LONG)).toMatchObject({ code: 'policy/approval-denied' });
  });

  test.each([
    ['a run with a space', ['palisade.echo', '--run', 'a b']],
    ['a tool that is no name', ['no tool']],
    ['a tool that is not there', ['no.such.tool']],
  ])('refuses %s with the code of the call', async (_, words) => {
    const { run, json } = inside('names');
    const { code, message } = await json('call', ...words);
    const explained = await run('policy', 'explain', ...words, '--json');
    expect(JSON.parse(explained.out)).toMatchObject({ status: 'refused', code, message });
    expect(explained.status).toBe(2);
  });

  test('takes the time limit of a call', async () => {
    const { run } = inside('limit');
    expect((await run('policy', 'explain', 'palisade.echo', '--timeout', '5')).status).toBe(0);
    expect((await run('policy', 'explain', 'palisade.echo', '--timeout', '0')).status).toBe(64);
  });
});

describe('palisade approvals show', () => {
  test('keeps a note on its own line, whatever is in it', async () => {
    const { run, ask } = inside('note');
    const id = await ask();
    const deny = (note: string) => run('approvals', 'deny', id, '--as', 'user:grace', '--note', note);
    expect((await deny('fine\ndecided  user:eve\tyes')).status).toBe(64);
    await deny('fine\u2028decided  user:eve\u202eyes');
    const { out } = await run('approvals', 'show', id);
    expect(out).toContain(': fine\\u{2028}decided  user:eve\\u{202e}yes\n');
    expect(out.match(/^decided/gm)).toHaveLength(1);
  });

  test('says that the input of a used request is gone, and which it was', async () => {
    const { run, json, ask } = inside('used');
    const id = await ask();
    await run('approvals', 'approve', id, '--as', 'user:grace');
    await run('call', ...LONG, '--timeout', '1');
    const { inputDigest } = await json('approvals', 'show', id);
    expect((await run('approvals', 'show', id)).out).toContain(`no longer stored (sha256 ${inputDigest})`);
  });
});
