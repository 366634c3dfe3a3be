import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { CODES } from '@palisade/sdk';
import { describe, expect, test } from 'vitest';
import { runInside } from './fake-edge.ts';
import { makeScratch, palisade, useBuild } from './palisade.ts';

useBuild();
const scratch = makeScratch();
const state = join(scratch, 'state');
const inState = (...words: string[]) => palisade([...words, '--state', state]);

/** Breaks chance itself, as a machine without entropy would: nothing in the program expects it. */
const NO_CHANCE =
  'data:text/javascript,import crypto from "node:crypto"; crypto.randomBytes = () => { throw new Error("no chance left") }';

describe('the exit status of palisade', () => {
  test.each([
    ['ok', 0, ['call', 'palisade.echo']],
    [
      'tier/timed-out',
      1,
      ['call', 'palisade.sleep', '--input', '{"ms":60000}', '--timeout', '1', '--as', 'user:eve'],
    ],
    ['registry/unknown-tool', 2, ['call', 'no.such.tool']],
    ['registry/invalid-input', 2, ['call', 'palisade.sleep', '--input', '{"ms":"long"}']],
    [
      'policy/approval-required',
      2,
      ['call', 'palisade.sleep', '--input', '{"ms":60000}', '--as', 'agent:ada'],
    ],
    ['policy/denied', 2, ['call', 'palisade.echo', '--as', 'service:ci']],
    ['door/invalid-call', 2, ['call', 'palisade.echo', '--run', 'two words']],
  ] as const)('after a call with the code %s is %i', async (code, status, words) => {
    if (code === 'tier/timed-out') await approve(words);
    const { status: actual, out } = await inState(...words, '--json');
    expect(JSON.parse(out)).toMatchObject({ code });
    expect(actual).toBe(status);
    expect(actual).toBe(CODES[code].exitStatus);
  });

  test.each([
    ['approval/unknown', 2, ['approvals', 'approve', 'apr_000000']],
    ['journal/unknown-record', 2, ['receipt', 'call_0']],
    ['door/wrong-usage', 64, ['call']],
    ['door/wrong-usage', 64, ['no-such-verb']],
    ['door/wrong-usage', 64, ['verify', '/no/such/file']],
  ] as const)('after a command with the code %s is %i', async (code, status, words) => {
    const { status: actual, out } = await inState(...words, '--json');
    expect(JSON.parse(out)).toMatchObject({ code, remedy: expect.stringMatching(/\.$/) });
    expect(actual).toBe(status);
  });

  test('is 1 when a document does not verify', async () => {
    const file = join(scratch, 'no-receipt.json');
    writeFileSync(file, '{"payload":"","payloadType":"","signatures":[]}');
    const { status, out } = await inState('verify', file);
    expect(out).toContain('NOT VERIFIED');
    expect(status).toBe(1);
  });

  test('is 70 when the program itself breaks, and says so without a stack', async () => {
    const { status, out, err } = await palisade(['call', 'palisade.echo', '--state', state], {
      node: ['--import', NO_CHANCE],
    });
    expect(status).toBe(70);
    expect(out).toBe('');
    expect(err).toMatch(/^fault {2}gateway\/fault\nCannot finish: no chance left\n→ /);
    expect(err).not.toMatch(/^\s+at /m);
  });

  test('is 70 with one JSON document when the program breaks under --json', async () => {
    const { status, out } = await runInside(['budget', 'list', '--json']);
    expect(status).toBe(70);
    expect(JSON.parse(out)).toMatchObject({ status: 'failed', code: 'gateway/fault' });
  });
});

/** Lets a long sleep through, so that it can run into its time limit. */
async function approve(words: readonly string[]): Promise<void> {
  const requested = await inState(...words, '--json');
  const [, id = ''] = /(apr_[a-z0-9]+)/.exec(JSON.parse(requested.out).message) ?? [];
  expect((await inState('approvals', 'approve', id, '--as', 'user:grace')).status).toBe(0);
}
