import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { describe, expect, onTestFinished, test } from 'vitest';
import { sample } from '../../../../../tests/volume/volume.ts';
import { readEnvironment } from '../../../src/config/environment.ts';
import { openGateway, openRecords } from '../../../src/open.ts';
import { CHECKED } from '../../fixture/checked.ts';
import { ASKER, valueIn } from '../../vault/sample.ts';
import { runInside } from './fake-edge.ts';
import { BIN, makeScratch, palisade, useBuild } from './palisade.ts';

/* Most command lines run inside of the test, on a real state directory; those that are about a process or a terminal have one. */

useBuild();
const scratch = makeScratch();
const VALUE = 'tok-9f8e7d6c5b4a';
const PASSPHRASE = 'seven brave otters sing';

const REFUSED: readonly [what: string, words: readonly string[], stdin: string][] = [
  ['an empty value', ['set', 'github'], ''],
  ['nothing but a line end', ['set', 'github'], '\n'],
  ['64 KiB and one byte', ['set', 'github'], 'x'.repeat(65_537)],
  ['a megabyte', ['set', 'github'], 'x'.repeat(1_000_000)],
  ['a value in the command line', ['set', 'github', VALUE], ''],
  ['a value behind the name', ['set', `github=${VALUE}`], ''],
  ['a value as a flag', ['set', 'github', `--value=${VALUE}`], ''],
  ['a value as the value of a flag', ['set', 'github', '--value', VALUE], ''],
  ['a name in upper case', ['set', 'GitHub'], VALUE],
  ['a scope that is none', ['set', 'github', '--scope', 'tenant:'], VALUE],
  ['a principal without its kind', ['set', 'github', '--scope', 'principal:ada'], VALUE],
];

const ACTS: readonly [what: string, words: readonly string[]][] = [
  ['set', ['set', 'db']],
  ['list', ['list']],
  ['rm', ['rm', 'db']],
  ['rotate', ['rotate']],
  ['rotate --lost', ['rotate', '--lost']],
];

type Input = { readonly stdin?: string };

/** A state directory of its own, and palisade on it. */
function newState(name: string, toml = '') {
  const state = join(scratch, name);
  mkdirSync(state, { mode: 0o700 });
  writeFileSync(join(state, 'palisade.toml'), toml);
  const secrets = (words: readonly string[], { stdin = '' }: Input = {}) =>
    runInside(['secrets', ...words, '--state', state], {
      openRecords,
      openGateway: (options) => openGateway({ ...options, checked: CHECKED }),
      stdin: Readable.from([Buffer.from(stdin)]),
    });
  return { state, secrets, keyPath: join(state, 'keys', 'vault.key') };
}

/** What the vault gives to a call. */
async function kept(state: string, name: string): Promise<string | undefined> {
  const records = await openRecords({ stateDir: state, env: readEnvironment({}), version: '0.0.0' });
  try {
    return await valueIn(records.vault, name, ASKER);
  } finally {
    await records.close();
  }
}

describe('palisade secrets set', () => {
  test('keeps what comes on standard input, without the line end behind it', async () => {
    const { state } = newState('set');
    const secrets = (words: readonly string[], given: Input) =>
      palisade(['secrets', ...words, '--state', state], given);
    const { status, out, err } = await secrets(['set', 'github'], { stdin: `${VALUE}\n` });
    expect([status, out, err]).toEqual([0, '', `set  github (global), version 1, ${VALUE.length} bytes\n`]);
    expect(await kept(state, 'github')).toBe(VALUE);
    const again = await secrets(['set', 'github', '--exact', '--json'], { stdin: `${VALUE}\r\n` });
    expect(JSON.parse(again.out)).toEqual({
      name: 'github',
      scope: 'global',
      version: 2,
      bytes: VALUE.length + 2,
    });
    expect(await kept(state, 'github')).toBe(`${VALUE}\r\n`);
    await secrets(['set', 'github'], { stdin: `two\nlines\r\n` });
    expect(await kept(state, 'github')).toBe('two\nlines');
  });

  test.each(sample(REFUSED, 4))(
    'refuses %s, keeps nothing and repeats nothing of it',
    async (what, words, stdin) => {
      const { secrets } = newState(`refuse ${what}`);
      const { status, out, err } = await secrets(words, { stdin });
      expect([status, out]).toEqual([64, '']);
      expect(err).toMatch(/^refused {2}door\/wrong-usage\nCannot .*\n→ .*\.\n$/);
      expect(err).not.toContain(VALUE);
      expect(JSON.parse((await secrets(['list', '--json'])).out)).toEqual({ lockedWith: null, secrets: [] });
    },
  );

  test('takes 64 KiB and no more', async () => {
    const { state, secrets } = newState('most');
    expect((await secrets(['set', 'big'], { stdin: 'x'.repeat(65_536) })).status).toBe(0);
    expect(await kept(state, 'big')).toHaveLength(65_536);
  });

  test('says that a very short value cannot be taken out of outputs', async () => {
    const { secrets } = newState('short');
    expect((await secrets(['set', 'pin'], { stdin: '1234' })).err).toContain('! it is too short');
  });
});

describe('palisade secrets', () => {
  test('lists and removes by name and scope, and never shows a value', async () => {
    const { secrets } = newState('list');
    for (const scope of ['global', 'tenant:acme', 'principal:agent:ada', 'skill:acme/deploy']) {
      await secrets(['set', 'db', '--scope', scope], { stdin: `${VALUE} ${scope}` });
    }
    const { out } = await secrets(['list', '--json']);
    const { secrets: listed, lockedWith } = JSON.parse(out);
    expect(lockedWith).toBe('file');
    expect(listed.map(({ scope }: { scope: string }) => scope)).toEqual([
      'global',
      'principal:agent:ada',
      'skill:acme/deploy',
      'tenant:acme',
    ]);
    expect(Object.keys(listed[0])).toEqual(['name', 'scope', 'version', 'bytes', 'createdAt', 'usedAt']);
    const table = await secrets(['list']);
    expect(table.out).toMatch(/^NAME +SCOPE +VERSION +BYTES +SET +USED\ndb +global +1 +23 .* never\n/);
    expect(out + table.out + table.err).not.toContain(VALUE);
    expect((await secrets(['rm', 'db', '--scope', 'tenant:acme'])).status).toBe(0);
    const missing = await secrets(['rm', 'db', '--scope', 'tenant:acme', '--json']);
    expect([missing.status, JSON.parse(missing.out).code]).toEqual([2, 'vault/missing']);
    expect(JSON.parse((await secrets(['list', '--json'])).out).secrets).toHaveLength(3);
  });

  test.each(sample(ACTS, 2))(
    'refuses %s to an agent, and to a user whom no policy permits it',
    async (what, words) => {
      const { state, secrets } = newState(`policy ${what}`);
      await secrets(['set', 'db'], { stdin: VALUE });
      const agent = await secrets([...words, '--as', 'agent:ada', '--json'], { stdin: 'stolen-value' });
      expect([agent.status, JSON.parse(agent.out).code]).toEqual([2, 'policy/denied']);
      writeFileSync(
        join(state, 'policies', '99.cedar'),
        '@id("not-eve") forbid(principal == User::"eve", action == Action::"administer", resource);\n',
      );
      const eve = await secrets([...words, '--as', 'user:eve', '--json'], { stdin: 'stolen-value' });
      expect([eve.status, JSON.parse(eve.out).code]).toEqual([2, 'policy/denied']);
      expect(JSON.parse(eve.out).message).toContain('"not-eve" forbids it');
      expect(await kept(state, 'db')).toBe(VALUE);
      expect((await secrets(['list', '--as', 'user:grace'])).status).toBe(0);
    },
  );

  test('rotates, and refuses what it cannot rotate to', async () => {
    const { state, secrets } = newState('rotate');
    await secrets(['set', 'db'], { stdin: VALUE });
    const { out } = await secrets(['rotate', '--json']);
    expect(JSON.parse(out)).toEqual({ from: 'file', to: 'file', secrets: 1, lost: false });
    expect((await secrets(['rotate', '--to', 'keychain'])).status).toBe(64);
    const passphrase = await secrets(['rotate', '--to', 'passphrase', '--json']);
    expect(JSON.parse(passphrase.out)).toMatchObject({
      code: 'vault/locked',
      remedy: expect.stringContaining('vault.passphrase_file'),
    });
    expect((await secrets(['rotate', '--lost'])).status).toBe(64);
    expect(await kept(state, 'db')).toBe(VALUE);
  });

  test('tells what to do when the key file is lost or open to others, and starts anew when told so', async () => {
    const { secrets, keyPath } = newState('lost');
    await secrets(['set', 'db'], { stdin: VALUE });
    chmodSync(keyPath, 0o644);
    const open = await secrets(['set', 'mail'], { stdin: VALUE });
    expect(open.err).toMatch(
      /vault\/locked\n.*its mode is 0644, expected 0600.*\n→ .*palisade secrets rotate/,
    );
    chmodSync(keyPath, 0o600);
    renameSync(keyPath, `${keyPath}.away`);
    const lost = await secrets(['set', 'mail'], { stdin: VALUE });
    expect([lost.status, lost.err]).toEqual([2, expect.stringContaining('palisade secrets rotate --lost')]);
    expect((await secrets(['list'])).out).toContain('db');
    const { err } = await secrets(['rotate', '--lost']);
    expect(err).toBe('started over  secrets removed: 1\n');
    rmSync(`${keyPath}.away`);
    expect((await secrets(['set', 'mail'], { stdin: VALUE })).status).toBe(0);
  });

  test('follows palisade.toml: a passphrase file for a new vault, and a word when the lock is another', async () => {
    const path = join(scratch, 'passphrase');
    writeFileSync(path, `${PASSPHRASE}\n`, { mode: 0o600 });
    const toml = `[vault]\nkey = "passphrase"\npassphrase_file = "${path}"\n`;
    const { state, secrets, keyPath } = newState('configured', toml);
    expect((await secrets(['set', 'db'], { stdin: VALUE })).status).toBe(0);
    expect(JSON.parse((await secrets(['list', '--json'])).out).lockedWith).toBe('passphrase');
    expect(await kept(state, 'db')).toBe(VALUE);
    expect((await secrets(['rotate', '--to', 'file'])).status).toBe(0);
    expect((await secrets(['list'])).err).toContain('palisade secrets rotate --to passphrase');
    expect(() => chmodSync(keyPath, 0o600)).not.toThrow();
    writeFileSync(join(state, 'palisade.toml'), '[vault]\nkey = "keychain"\n');
    expect((await secrets(['set', 'db'], { stdin: VALUE })).err).toContain(
      'Set `vault.key` in palisade.toml',
    );
  });
});

describe('palisade secrets in a terminal', () => {
  /** Runs a command in a terminal of its own; answers each question, in order, when it is asked. */
  async function inTerminal(
    words: readonly string[],
    answers: readonly [question: string, answer: string][],
  ) {
    const line = [process.execPath, BIN, ...words].map((word) => `'${word}'`).join(' ');
    const child = spawn('/usr/bin/script', ['-qec', line, '/dev/null'], { stdio: ['pipe', 'pipe', 'pipe'] });
    onTestFinished(() => void child.kill('SIGKILL'));
    let [shown, from] = ['', 0];
    const left = [...answers];
    child.stdout.on('data', (chunk: Buffer) => {
      shown += chunk;
      const [question, answer] = left[0] ?? [];
      if (question === undefined || !shown.slice(from).includes(`${question}: `)) return;
      from = shown.length;
      left.shift();
      child.stdin.write(`${answer}`);
    });
    const [status] = (await once(child, 'close')) as [number];
    expect(left).toEqual([]);
    return { status, shown };
  }

  test('asks for a value and a passphrase, and shows neither', async () => {
    const { state, secrets } = newState('terminal');
    const set = await inTerminal(
      ['secrets', 'set', 'db', '--state', state],
      [['Value of db', `${VALUE}X\x7f\r`]],
    );
    expect([set.status, set.shown]).toEqual([0, expect.stringContaining('version 1, 16 bytes')]);
    expect(set.shown).not.toContain(VALUE.slice(0, 4));
    expect(await kept(state, 'db')).toBe(VALUE);
    const rotated = await inTerminal(
      ['secrets', 'rotate', '--to', 'passphrase', '--state', state],
      [
        ['New passphrase of the vault', `${PASSPHRASE}\r`],
        ['Repeat the passphrase', `${PASSPHRASE}\r`],
      ],
    );
    expect([rotated.status, rotated.shown.includes('otters')]).toEqual([0, false]);
    expect((await secrets(['set', 'db'], { stdin: VALUE })).err).toContain('vault/locked');
    const wrong = await inTerminal(
      ['secrets', 'set', 'db', '--state', state],
      [['Passphrase of the vault', 'nine quiet herons sing\r']],
    );
    expect([wrong.status, wrong.shown]).toEqual([2, expect.stringContaining('vault/unreadable')]);
    const right = await inTerminal(
      ['secrets', 'set', 'db', '--state', state],
      [
        ['Passphrase of the vault', `${PASSPHRASE}\r`],
        ['Value of db', 'a new value\r'],
      ],
    );
    expect([right.status, right.shown]).toEqual([0, expect.stringContaining('version 2')]);
  });

  test('takes no passphrase that was typed in two ways, and nothing after Ctrl-C', async () => {
    const { state, secrets } = newState('cancelled');
    await secrets(['set', 'db'], { stdin: VALUE });
    const differs = await inTerminal(
      ['secrets', 'rotate', '--to', 'passphrase', '--state', state],
      [
        ['New passphrase of the vault', `${PASSPHRASE}\r`],
        ['Repeat the passphrase', `${PASSPHRASE}!\r`],
      ],
    );
    expect([differs.status, differs.shown]).toEqual([64, expect.stringContaining('the two entries differ')]);
    const cancelled = await inTerminal(
      ['secrets', 'set', 'db', '--state', state],
      [['Value of db', 'half\x03']],
    );
    expect([cancelled.status, cancelled.shown]).toEqual([1, expect.stringContaining('tier/cancelled')]);
    expect(await kept(state, 'db')).toBe(VALUE);
  });
});
