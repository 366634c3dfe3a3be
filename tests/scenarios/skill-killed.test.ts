import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { digestBytes } from '../../packages/gateway/src/core/digest.ts';
import { palisade, scratch } from '../fixtures/cli.ts';
import { ACME, publicDocument, samplePackage } from '../fixtures/skills/sample.ts';
import { sample } from '../volume/volume.ts';

/* Whoever installs and approves is killed at any moment: what is left is the old or the new, and the next try goes on. */

const PALISADE = fileURLToPath(new URL('../../packages/gateway/bin/palisade.js', import.meta.url));
const folder = scratch();
const state = join(folder, 'state');
const STATES = ['ingested', 'audited', 'quarantined'];
/** From before the first file is opened to after the last; the machine decides what falls where. */
const DELAYS_MS = sample([120, 300, 180, 360, 240, 420, 500, 600], 2);

async function killedAfter(ms: number, ...words: readonly string[]): Promise<void> {
  const child = spawn(process.execPath, [PALISADE, ...words, '--state', state], { stdio: 'ignore' });
  const ended = once(child, 'close');
  await Promise.race([ended, sleep(ms)]);
  child.kill('SIGKILL');
  await ended;
}

async function states(): Promise<readonly string[]> {
  const { out, status } = await palisade(['skill', 'list', '--json', '--state', state]);
  expect(status).toBe(0);
  return (JSON.parse(out) as { skills: { state: string }[] }).skills.map((each) => each.state);
}

/** Every file whose name is a digest has the bytes of it. */
function expectWholePackages(): void {
  const skills = join(state, 'skills');
  for (const name of (existsSync(skills) ? readdirSync(skills) : []).filter(
    (each) => /^[0-9a-f]{64}/.test(each) && !each.includes('.'),
  ))
    expect(digestBytes(readFileSync(join(skills, name)))).toBe(name);
}

test('a skill that is installed by processes that are killed is there whole, once, or not at all', async () => {
  const key = join(folder, 'acme.json');
  writeFileSync(key, publicDocument(ACME));
  await palisade(['trust', 'add', 'acme', key, '--yes', '--state', state]);
  for (const [at, ms] of DELAYS_MS.entries()) {
    const file = join(folder, `${at}.skill`);
    writeFileSync(file, samplePackage({ version: `1.0.${at}` }));
    await killedAfter(ms, 'skill', 'install', file);
    for (const left of await states()) expect(STATES).toContain(left);
    expectWholePackages();
    const again = await palisade(['skill', 'install', file, '--json', '--state', state]);
    expect(JSON.parse(again.out)).toMatchObject({ skill: { version: `1.0.${at}`, state: 'quarantined' } });
  }
  expect(await states()).toEqual(DELAYS_MS.map(() => 'quarantined'));
  const verified = await palisade(['journal', 'verify', '--state', state]);
  expect(verified.status).toBe(0);
});

test('a skill that is approved by processes that are killed is in quarantine or active, and its tool says which', async () => {
  const reference = `acme.sample@1.0.${DELAYS_MS.length - 1}`;
  const words = ['skill', 'approve', reference, '--yes', '--reason', 'looked at'];
  for (const ms of sample([200, 300, 400])) {
    await killedAfter(ms, ...words);
    const { out } = await palisade(['skill', 'show', reference, '--json', '--state', state]);
    const { state: left } = JSON.parse(out) as { state: string };
    const called = await palisade([
      'call',
      'acme.sample.plain',
      '--as',
      'user:ada',
      '--json',
      '--state',
      state,
    ]);
    const { code } = JSON.parse(called.out) as { code: string };
    expect([left, code]).toEqual(left === 'active' ? ['active', 'ok'] : ['quarantined', 'skill/quarantined']);
  }
});
