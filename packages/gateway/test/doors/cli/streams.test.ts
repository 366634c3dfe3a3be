import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { BIN, finish, makeScratch, palisade, start, useBuild } from './palisade.ts';
import { KEY, writeKey, writePackage } from './skill-sample.ts';

useBuild();
const scratch = makeScratch();
const state = join(scratch, 'state');
const inState = (...words: string[]) => [...words, '--state', state];

beforeAll(async () => {
  await palisade(inState('call', 'palisade.echo'));
});

describe('palisade with a reader that goes away', () => {
  test.each([
    ['a page of help', ['--help']],
    ['an export', inState('journal', 'export')],
    [
      'the output of a call',
      inState('call', 'palisade.echo', '--input', JSON.stringify({ message: 'x'.repeat(100_000) })),
    ],
  ])('ends quietly in the middle of %s', async (_, words) => {
    const child = start(words);
    child.stdout?.destroy();
    const { status, err } = await finish(child);
    expect(status).toBe(0);
    expect(err).not.toMatch(/EPIPE|Error|^\s+at /m);
  });

  test('leaves a journal that verifies and the call in it', async () => {
    const child = start(inState('call', 'palisade.echo', '--as', 'agent:unheard', '--json'));
    child.stdout?.destroy();
    await finish(child);
    const found = await palisade(inState('journal', 'search', '--principal', 'agent:unheard', '--json'));
    const kinds = JSON.parse(found.out).records.map(({ kind }: { kind: string }) => kind);
    expect(kinds).toEqual(['ended', 'intent']);
    expect((await palisade(inState('journal', 'verify'))).status).toBe(0);
  });

  test('keeps its exit status when nobody reads standard error', async () => {
    const child = start(inState('call', 'no.such.tool'));
    child.stderr?.destroy();
    expect((await finish(child)).status).toBe(2);
  });
});

describe('palisade with a disk that is full', () => {
  test.each([
    ['a document', inState('tools', 'list', '--json')],
    ['a table', inState('tools', 'list')],
  ])('says that %s could not be written, and does not end well', async (_, words) => {
    const full = openSync('/dev/full', 'w');
    onTestFinished(() => closeSync(full));
    const { status, stderr } = spawnSync(process.execPath, [BIN, ...words], {
      stdio: ['ignore', full, 'pipe'],
      encoding: 'utf8',
    });
    expect(stderr).toBe('Cannot write the output: ENOSPC\n');
    expect(status).toBe(70);
  });
});

describe('palisade skill approve with a reader that goes away', () => {
  test('approves all the same, and its exit status tells so', async () => {
    const file = writePackage(scratch, 'one');
    await palisade(inState('trust', 'add', 'acme', writeKey(scratch, 'acme', KEY), '--yes'));
    await palisade(inState('skill', 'install', file));
    const child = start(inState('skill', 'approve', 'acme.text', '--yes', '--reason', 'looked at'));
    child.stdout?.destroy();
    const { status, err } = await finish(child);
    expect(err).toContain('it is active');
    expect(status).toBe(0);
    const listed = await palisade(inState('skill', 'list', '--json'));
    expect(JSON.parse(listed.out).skills).toMatchObject([{ id: 'acme.text', state: 'active' }]);
  });
});

describe('palisade journal tail --follow', () => {
  test('shows new records as they come, until it is told to stop', async () => {
    const child = start(inState('journal', 'tail', '--follow', '--json', '--limit', '1'));
    const [first] = (await once(child.stdout ?? child, 'data')) as [Buffer];
    const rest = finish(child);
    onTestFinished(() => void child.kill('SIGKILL'));
    const before = JSON.parse(first.toString().split('\n')[0] ?? '').seq;
    const isShown = new Promise<void>((resolve) => {
      child.stdout?.on('data', (chunk: Buffer) => chunk.includes('"kind":"ended"') && resolve());
    });
    await palisade(inState('call', 'palisade.echo', '--as', 'agent:followed'));
    await isShown;
    child.kill('SIGINT');
    const { status, out } = await rest;
    const seen = out
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(seen.map(({ kind }) => kind)).toEqual(['intent', 'ended']);
    expect(seen[0].seq).toBe(before + 1);
    expect(status).toBe(0);
  });
});
