import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { BIN, makeScratch, palisade, useBuild } from './palisade.ts';

useBuild();
const scratch = makeScratch();
const state = join(scratch, 'state');
const home = join(scratch, 'home');
const path = (name: string) => join(scratch, name);
const inState = (...words: string[]) => palisade([...words, '--state', state]);
/** Somebody with the documents, the command and an empty home. */
const asStranger = (...words: string[]) => palisade(words.map(absolute), { env: { HOME: home } });
const absolute = (word: string) => word.replace(/^(@?)(fifo|[\w-]+\.(?:json|ndjson))$/, `$1${scratch}/$2`);

beforeAll(async () => {
  mkdirSync(home);
  const { out } = await inState(
    'call',
    'palisade.echo',
    '--input',
    '{"message":"hello"}',
    '--receipt',
    path('receipt.json'),
    '--json',
  );
  const { callId } = JSON.parse(out);
  await inState('journal', 'prove', callId, '--out', path('proof.json'));
  await inState('journal', 'export', '--out', path('journal.ndjson'));
  await inState('keys', 'export', '--out', path('keys.json'));
  writeFileSync(path('input.json'), '{ "message": "hello" }');
  writeFileSync(path('other.json'), '{ "message": "hallo" }');
});

describe('palisade verify by a stranger', () => {
  test.each([
    ['a receipt', ['receipt.json', '--key', 'keys.json']],
    [
      'a receipt of this input and output',
      ['receipt.json', '--key', 'keys.json', '--input', 'input.json', '--output', 'input.json'],
    ],
    ['a receipt with its proof', ['receipt.json', '--key', 'keys.json', '--proof', 'proof.json']],
    ['a proof', ['proof.json', '--key', 'keys.json']],
    ['a journal export', ['journal.ndjson', '--key', 'keys.json']],
    ['a key file', ['keys.json']],
  ])('accepts %s and leaves nothing behind', async (_, words) => {
    const { status, out } = await asStranger('verify', ...words);
    expect(out).toMatch(/\nverified\n$/);
    expect(status).toBe(0);
    expect(existsSync(join(home, '.local'))).toBe(false);
  });

  test('rejects a receipt of another input', async () => {
    const { status, out } = await asStranger(
      'verify',
      'receipt.json',
      '--key',
      'keys.json',
      '--input',
      'other.json',
    );
    expect(out).toContain('✗ The input is the one given');
    expect(status).toBe(1);
  });

  test('rejects a receipt in which one character was changed', async () => {
    const { payload, ...rest } = JSON.parse(readFileSync(path('receipt.json'), 'utf8'));
    const forged = Buffer.from(payload, 'base64').toString().replace('"code":"ok"', '"code":"no"');
    writeFileSync(
      path('forged.json'),
      JSON.stringify({ payload: Buffer.from(forged).toString('base64'), ...rest }),
    );
    const { status, out } = await asStranger('verify', 'forged.json', '--key', 'keys.json');
    expect(out).toContain('✗ The signature of the receipt is valid');
    expect(status).toBe(1);
  });

  test('names the record that was changed in an export', async () => {
    const text = readFileSync(path('journal.ndjson'), 'utf8');
    writeFileSync(path('forged.ndjson'), text.replace('"kind":"intent"', '"kind":"extent"'));
    const { status, out } = await asStranger('verify', 'forged.ndjson', '--key', 'keys.json', '--json');
    expect(JSON.parse(out)).toMatchObject({ ok: false, firstBad: { seq: 3 } });
    expect(status).toBe(1);
  });

  test('without keys says what is missing instead of making a key of its own', async () => {
    const { status, err } = await asStranger('verify', 'receipt.json');
    expect(err).toContain('expected --key FILE');
    expect(status).toBe(64);
    expect(existsSync(join(home, '.local'))).toBe(false);
  });

  test('refuses a check that cannot be made of this document', async () => {
    const { status, err } = await asStranger('verify', 'keys.json', '--proof', 'proof.json');
    expect(err).toContain(`Cannot use --proof with "${path('keys.json')}"`);
    expect(status).toBe(64);
  });

  test.each([
    ['bytes that are not UTF-8', Buffer.from([0xff])],
    ['a mark of the byte order', Buffer.from('\ufeff')],
  ])('rejects a proof with %s', async (_, odd) => {
    const proof = readFileSync(path('proof.json'));
    writeFileSync(path('odd-proof.json'), Buffer.concat([odd, proof]));
    const words = ['verify', 'receipt.json', '--key', 'keys.json', '--proof', 'odd-proof.json'];
    const { status, out } = await asStranger(...words);
    expect(out).toContain('NOT VERIFIED');
    expect(status).toBe(1);
  });
});

describe('palisade with a FIFO that nobody writes to', () => {
  test.each([
    ['verify', ['verify', 'fifo', '--key', 'keys.json']],
    ['verify --key', ['verify', 'receipt.json', '--key', 'fifo']],
    ['verify --proof', ['verify', 'receipt.json', '--key', 'keys.json', '--proof', 'fifo']],
    ['journal verify --file', ['journal', 'verify', '--file', 'fifo', '--key', 'keys.json']],
    ['call --input', ['call', 'palisade.echo', '--input', '@fifo']],
    ['policy test', ['policy', 'test', 'fifo']],
  ])('refuses it for %s instead of waiting', async (_, words) => {
    if (!existsSync(path('fifo'))) execFileSync('mkfifo', [path('fifo')]);
    const { status, err } = await asStranger(...words);
    expect(err).toContain(`Cannot read "${path('fifo')}": it is not a regular file`);
    expect(status).toBe(64);
  });

  test('still reads keys from standard input', async () => {
    const words = ['verify', 'receipt.json', '--key', '/dev/stdin'];
    const bin = `"${process.execPath}" "${BIN}"`;
    const out = execFileSync('sh', ['-c', `cat keys.json | ${bin} ${words.join(' ')}`], {
      cwd: scratch,
      env: { HOME: home, PATH: process.env.PATH },
      encoding: 'utf8',
    });
    expect(out).toMatch(/\nverified\n$/);
  });

  test.each(['/dev/zero', '/dev/tty', '/dev/null'])('refuses the device %s', async (device) => {
    const { status, err } = await asStranger('verify', device, '--key', 'keys.json');
    expect(err).toContain(`Cannot read "${device}"`);
    expect(status).toBe(64);
  });
});

describe('palisade journal verify --checkpoint', () => {
  test('accepts the journal that was signed, grown', async () => {
    await inState('journal', 'checkpoint', '--out', path('checkpoint.json'));
    await inState('call', 'palisade.echo');
    const { status, out } = await inState('journal', 'verify', '--checkpoint', path('checkpoint.json'));
    expect(out).toContain('✓ The journal continues the saved checkpoint');
    expect(status).toBe(0);
  });

  test('rejects a state directory that was made anew, sound as it is', async () => {
    const anew = join(scratch, 'anew');
    await palisade(['call', 'palisade.echo', '--state', anew]);
    const words = ['journal', 'verify', '--state', anew];
    expect((await palisade(words)).status).toBe(0);
    const { status, out } = await palisade([...words, '--checkpoint', path('checkpoint.json')]);
    expect(out).toContain('✗ The key of the saved checkpoint is known');
    expect(status).toBe(1);
  });

  test('rejects an export that ends before it', async () => {
    await inState('journal', 'checkpoint', '--out', path('later.json'));
    const words = ['journal', 'verify', '--file', 'journal.ndjson', '--key', 'keys.json'];
    const { status, out } = await asStranger(...words, '--checkpoint', 'later.json', '--json');
    expect(JSON.parse(out).firstBad.why).toContain('is missing');
    expect(status).toBe(1);
  });
});

describe('palisade --out', () => {
  test('leaves an older file as it is when there is nothing to write', async () => {
    writeFileSync(path('older.ndjson'), 'older');
    expect((await inState('journal', 'export', '--from', '9999', '--out', path('older.ndjson'))).status).toBe(
      2,
    );
    expect(readFileSync(path('older.ndjson'), 'utf8')).toBe('older');
  });
});
