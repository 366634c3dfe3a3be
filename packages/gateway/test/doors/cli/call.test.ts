import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { finish, makeScratch, palisade, start, useBuild } from './palisade.ts';

useBuild();
const scratch = makeScratch();
const state = join(scratch, 'state');
const inState = (words: string[], stdin: string | Uint8Array = '') =>
  palisade([...words, '--state', state], { stdin });
const SHAPE = ['callId', 'status', 'code', 'message', 'remedy', 'output', 'usage', 'receipt'];
const UNITS = ['calls', 'wallMs', 'cpuMs', 'fuel', 'outputBytes', 'egressBytes'];

describe('palisade call --json', () => {
  test('prints one object of the documented fields for a call that ended well', async () => {
    const { out } = await inState(['call', 'palisade.echo', '--input', '{"message":"hello"}', '--json']);
    const document = JSON.parse(out);
    expect(Object.keys(document)).toEqual(SHAPE);
    expect(Object.keys(document.usage)).toEqual(UNITS);
    expect(document).toMatchObject({ status: 'ok', code: 'ok', remedy: null, output: { message: 'hello' } });
    expect(Object.keys(document.receipt)).toEqual(['payload', 'payloadType', 'signatures']);
  });

  test('prints the same fields for a refused call, with a receipt and no output', async () => {
    const { out } = await inState(['call', 'no.such.tool', '--json']);
    const document = JSON.parse(out);
    expect(Object.keys(document)).toEqual(SHAPE);
    expect(document).toMatchObject({ status: 'refused', output: null, usage: { calls: 0 } });
    expect(document.receipt.signatures).toHaveLength(1);
  });

  test('escapes what a terminal would obey, and parsers still read the value', async () => {
    const message = 'a\u202eb\u009b31mc\u200bd';
    const { out } = await inState([
      'call',
      'palisade.echo',
      '--input',
      JSON.stringify({ message }),
      '--json',
    ]);
    expect(out).not.toMatch(/[\u0080-\u009f\u200b\u202e]/);
    expect(JSON.parse(out).output).toEqual({ message });
  });
});

describe('palisade call --input', () => {
  const file = join(scratch, 'input.json');

  test.each([
    ['the word itself', ['--input', '{"message":"π"}'], ''],
    ['@FILE', ['--input', `@${file}`], ''],
    ['- for standard input', ['--input', '-'], '{"message":"π"}'],
  ])('takes %s', async (_, words, stdin) => {
    writeFileSync(file, '{"message":"π"}');
    const { out, status } = await inState(['call', 'palisade.echo', ...words, '--json'], stdin);
    expect(JSON.parse(out).output).toEqual({ message: 'π' });
    expect(status).toBe(0);
  });

  test('is {} when it is left out', async () => {
    const { out } = await inState(['call', 'palisade.echo', '--json']);
    expect(JSON.parse(out).output).toEqual({});
  });

  test.each([
    ['a key twice', '{"a":1,"a":2}', 'column 8: the key "a" occurs twice'],
    ['a number that no double holds', '{"a":9007199254740993}', 'the number is too large'],
    ['half a surrogate pair', '{"a":"\\ud800"}', 'a lone surrogate'],
    ['bytes that are not UTF-8', Buffer.from('7b2261223a22ff227d', 'hex'), 'not UTF-8'],
    ['more than the configured size', `{"a":"${'x'.repeat(131_072)}"}`, 'expected at most 131072 bytes'],
    ['nesting beyond the limit', `${'['.repeat(65)}${']'.repeat(65)}`, 'nested too deeply'],
    ['nothing', '', 'the text ends'],
  ])('refuses %s, and records the refusal', async (_, stdin, why) => {
    const { status, out } = await inState(['call', 'palisade.echo', '--input', '-', '--json'], stdin);
    const { code, message, callId } = JSON.parse(out);
    expect(code).toBe('registry/invalid-input');
    expect(message).toContain(why);
    expect(status).toBe(2);
    expect((await inState(['receipt', callId])).status).toBe(0);
  });

  test('is not read into memory beyond its bound', async () => {
    const stdin = Buffer.alloc(16 * 1024 * 1024 + 1, ' ');
    const { status, err } = await inState(['call', 'palisade.echo', '--input', '-'], stdin);
    expect(err).toContain('Cannot read standard input: it has more than 16777216 bytes');
    expect(status).toBe(64);
  });

  test('from a directory is wrong usage, not a fault', async () => {
    const { status, err } = await inState(['call', 'palisade.echo', '--input', `@${scratch}`]);
    expect(err).toContain('EISDIR');
    expect(status).toBe(64);
  });
});

describe('palisade call --receipt', () => {
  test('replaces the file by the receipt, which verifies', async () => {
    const file = join(scratch, 'receipt.json');
    writeFileSync(file, 'x'.repeat(100_000));
    await inState(['call', 'palisade.echo', '--receipt', file]);
    expect((await inState(['verify', file])).out).toMatch(/\nverified\n$/);
  });

  test('that cannot be written is found out before the call runs', async () => {
    const words = [
      'call',
      'palisade.echo',
      '--as',
      'agent:never',
      '--receipt',
      join(scratch, 'no/dir'),
      '--json',
    ];
    const { status, out } = await inState(words);
    expect(JSON.parse(out)).toMatchObject({ code: 'door/wrong-usage' });
    expect(status).toBe(64);
    const { out: found } = await inState(['journal', 'search', '--principal', 'agent:never', '--json']);
    expect(JSON.parse(found).records).toEqual([]);
  });
});

describe('Ctrl-C', () => {
  test('during a call ends it as cancelled, recorded, settled and receipted', async () => {
    const own = join(scratch, 'cancelled');
    mkdirSync(own, { mode: 0o700 });
    const words = ['call', 'palisade.sleep', '--input', '{"ms":9000}', '--as', 'agent:ada', '--json'];
    const child = start([...words, '--state', own]);
    await untilRecorded(own, 'intent');
    child.kill('SIGINT');
    const { status, out } = await finish(child);
    const { code, callId } = JSON.parse(out);
    expect(code).toBe('tier/cancelled');
    expect(status).toBe(1);
    const kinds = JSON.parse((await palisade(['journal', 'show', callId, '--json', '--state', own])).out);
    expect(kinds.records.map(({ kind }: { kind: string }) => kind)).toEqual(['intent', 'ended']);
    const { accounts } = JSON.parse((await palisade(['budget', 'list', '--json', '--state', own])).out);
    const units = accounts.flatMap((account: { units: { reserved: number }[] }) => account.units);
    expect(units.length).toBeGreaterThan(0);
    expect(units.every(({ reserved }: { reserved: number }) => reserved === 0)).toBe(true);
    expect((await palisade(['journal', 'verify', '--state', own])).status).toBe(0);
  });

  test('while standard input is awaited ends the command, and no call was made', async () => {
    const own = join(scratch, 'waiting');
    const child = start(['call', 'palisade.echo', '--input', '-', '--json', '--state', own]);
    const ended = finish(child);
    // More than all buffers between the two hold: once it is written, the command is reading.
    await new Promise((resolve) => child.stdin?.write(Buffer.alloc(8 * 1024 * 1024, ' '), resolve));
    child.kill('SIGINT');
    const { status, out } = await ended;
    expect(JSON.parse(out)).toMatchObject({ status: 'failed', code: 'tier/cancelled' });
    expect(status).toBe(1);
    expect(existsSync(own)).toBe(false);
  });
});

/** Waits until another process has written a record of this kind. */
async function untilRecorded(dir: string, kind: string): Promise<void> {
  for (;;) {
    const found = existsSync(join(dir, 'palisade.db'))
      ? await palisade(['journal', 'search', '--kind', kind, '--json', '--state', dir])
      : null;
    if (found?.status === 0 && JSON.parse(found.out).records.length > 0) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

describe('palisade call on a terminal', () => {
  test('prints the output to standard output and everything else to standard error', async () => {
    const { out, err } = await inState(['call', 'palisade.echo', '--input', '{"message":"hello"}']);
    expect(JSON.parse(out)).toEqual({ message: 'hello' });
    expect(err).toMatch(/^ok {2}call_[a-z0-9]+ {2}\d+ ms\n→ palisade receipt call_[a-z0-9]+\n$/);
  });

  test('names the tool, the policy and the remedy of a refusal', async () => {
    const { out, err } = await inState(['call', 'palisade.echo', '--as', 'service:ci']);
    expect(out).toBe('');
    expect(err).toContain('Cannot call "palisade.echo" as service:ci: no policy permits it');
    expect(err).toContain('→ Run `palisade policy explain`');
  });

  test('shows an approver no value of a secret', async () => {
    const own = join(scratch, 'secret');
    await palisade(['policy', 'list', '--state', own]);
    const rule =
      '@id("echo-needs-approval") forbid (principal, action == Action::"call", resource == Tool::"palisade.echo")';
    writeFileSync(join(own, 'policies/40-echo.cedar'), `${rule} unless { context.approved };`);
    const secret = 'hunter2-hunter2';
    const words = ['call', 'palisade.echo', '--input', JSON.stringify({ message: `pw ${secret}` })];
    const requested = await palisade([...words, '--state', own], { env: { MY_API_KEY: secret } });
    expect(requested.err).toContain('policy/approval-required');
    const { out } = await palisade(['approvals', 'list', '--state', own]);
    expect(out).toContain('{"message":"pw [redacted:MY_API_KEY]"}');
    expect(out).not.toContain(secret);
  });
});
