import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { nodeForAll } from '../fixtures/commands/for-all.ts';
import { handOver, heldGateway, outcomesIn } from '../fixtures/commands/held.ts';
import { makeDirectories } from '../fixtures/commands/index.ts';
import { type Answers, answersIn, asNobody } from '../fixtures/jail/index.ts';

const SECRET = 'a secret of whoever started the gateway';
const PROGRAM = 'lists-descriptors.py';
const FIXTURES = fileURLToPath(new URL('../fixtures/jail', import.meta.url));
/** Opens a secret under three numbers, one above the gap that Node closes, and becomes the command. */
const START = 'exec 15<"$1" 200<"$1" 251<"$1"; shift; exec "$@"';

const users = [
  { who: 'the user of the tests', ids: {} },
  ...(process.getuid?.() === 0 ? [{ who: 'nobody', ids: asNobody() }] : []),
];

describe.each(users)('a command of a gateway that $who started with open descriptors', ({ ids }) => {
  const program = heldGateway();
  const directories = makeDirectories('');
  const base = mkdtempSync('/var/tmp/palisade-descriptors-');
  const secret = join(base, 'secret');
  let inside: Answers = {};
  let outside: Answers = {};
  const start = (words: readonly string[]) => {
    const env = { PATH: process.env.PATH ?? '', PALISADE_CANARY: SECRET };
    const options = { cwd: directories.workspace, encoding: 'utf8', env, ...ids } as const;
    return spawnSync('/bin/bash', ['-c', START, 'bash', secret, ...words], options);
  };
  beforeAll(async () => {
    writeFileSync(secret, SECRET, { mode: 0o644 });
    spawnSync('chmod', ['755', base]);
    for (const name of ['attempt.py', PROGRAM])
      copyFileSync(join(FIXTURES, name), join(directories.workspace, name));
    if (ids.uid !== undefined) handOver(directories, ids.uid);
    const input = { command: '/usr/bin/python3', args: ['-B', PROGRAM], tier: 'c' };
    const gateway = await program();
    const words = [
      nodeForAll(dirname(gateway)),
      gateway,
      directories.stateDir,
      directories.workspace,
      JSON.stringify(input),
    ];
    const held = start(words);
    const [outcome] = outcomesIn(held.stdout);
    expect(outcome, held.stderr).toMatchObject({ status: 'ok' });
    inside = answersIn(outcome?.output?.stdout ?? '');
    outside = answersIn(start(['/usr/bin/python3', '-B', PROGRAM]).stdout);
  });
  afterAll(() => {
    rmSync(base, { recursive: true, force: true });
    rmSync(dirname(directories.stateDir), { recursive: true, force: true });
  });

  test('inherits none of them', () => {
    expect(Object.keys(inside)).toEqual(['environment']);
    expect(outside).toMatchObject({ 15: SECRET, 200: SECRET, 251: SECRET });
  });

  test('has none of its variables', () => {
    const own = 'HOME LANG LOGNAME PATH PIP_RETRIES SHELL TERM TMPDIR USER npm_config_fetch_retries'
      .split(' ')
      .map((name) => `'${name}'`)
      .join(', ');
    expect(inside.environment).toBe(`[${own}]`);
    expect(outside.environment).toContain('PALISADE_CANARY');
  });
});
