import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import type { Finished } from '../../packages/gateway/test/doors/cli/palisade.ts';
import { scratch } from '../fixtures/cli.ts';
import { guest, listOf } from '../fixtures/modules/guest.ts';
import { palisade } from '../fixtures/skills/commands.ts';
import { KEEPER, KEEPS, PLAIN, type SampleWishes, sampleFiles } from '../fixtures/skills/sample.ts';

/* The life of a skill, as its author and the operator live it: every step is a command that somebody types. */

/** It is many processes when everything is proved. */
const PATIENCE_MS = 600_000;

const folder = scratch();
const STATE = ['--state', join(folder, 'state')];
const REASON = ['--yes', '--reason', 'looked at it'];

const FETCHER = {
  bytes: guest(({ bytes }) =>
    listOf(
      `(call $http_request (i32.const 10000) ${bytes('{"method":"GET","url":"https://api.example.com/"}')} ${bytes('')})`,
    ),
  ),
  risk: 'medium',
};

/** The folder of a version, as its author has it. */
function authored(version: string, wishes: SampleWishes): string {
  const place = join(folder, version);
  for (const [path, bytes] of sampleFiles({ ...wishes, version })) {
    mkdirSync(dirname(join(place, path)), { recursive: true });
    writeFileSync(join(place, path), bytes);
  }
  return place;
}

async function ok(...words: readonly string[]): Promise<Finished> {
  const finished = await palisade(words);
  expect(finished, words.join(' ')).toMatchObject({ status: 0 });
  return finished;
}

async function call(tool: string) {
  const { out } = await palisade(['call', `acme.sample.${tool}`, '--as', 'user:ada', '--json', ...STATE]);
  return JSON.parse(out) as { code: string; message?: string; output?: unknown };
}

async function states(): Promise<Readonly<Record<string, string>>> {
  const { out } = await ok('skill', 'list', '--json', ...STATE);
  const { skills } = JSON.parse(out) as { skills: { version: string; state: string }[] };
  return Object.fromEntries(skills.map(({ version, state }) => [version, state]));
}

test(
  'a skill is authored, packed, signed, installed, refused, audited, approved in part, updated, rolled back and revoked',
  async () => {
    const keeps = { tools: { plain: PLAIN, keep: KEEPER }, capabilities: KEEPS };
    const first = join(folder, 'first.skill');
    const key = join(folder, 'acme.key');
    await ok('skill', 'check', authored('1.0.0', keeps));
    await ok('skill', 'pack', join(folder, '1.0.0'), '--out', first);
    await ok('skill', 'sign', first, '--key', key, '--new-key');
    await ok('skill', 'inspect', first);

    const stranger = await palisade(['skill', 'install', first, '--json', ...STATE]);
    expect(stranger.status).toBe(2);
    expect(`${stranger.out}${stranger.err}`).toContain('skill/untrusted');
    await ok('trust', 'add', 'acme', `${key}.pub.json`, '--yes', ...STATE);
    await ok('skill', 'install', first, ...STATE);
    expect(await states()).toEqual({ '1.0.0': 'quarantined' });

    const refused = await call('plain');
    expect(refused.code).toBe('skill/quarantined');
    expect(refused.message).toContain('waits for an approval');
    await ok('skill', 'audit', 'acme.sample', ...STATE);

    const approval = ['skill', 'approve', 'acme.sample', '--withhold', 'storage:write'];
    expect((await palisade([...approval, ...STATE])).status).toBe(64);
    await ok(...approval, ...REASON, ...STATE);
    expect(await call('plain')).toMatchObject({ code: 'ok', output: [1, 2] });
    expect(await call('keep')).toMatchObject({ code: 'ok', output: [-1] });

    const wider = {
      ...keeps,
      tools: { ...keeps.tools, fetch: FETCHER },
      capabilities: `http_egress_allowlist = ["api.example.com:443"]\n${KEEPS}`,
    };
    const second = join(folder, 'second.skill');
    await ok('skill', 'pack', authored('1.1.0', wider), '--out', second);
    await ok('skill', 'sign', second, '--key', key);
    const update = await ok('skill', 'install', second, ...STATE);
    expect(`${update.out}${update.err}`).toContain('api.example.com');
    expect(await states()).toEqual({ '1.1.0': 'quarantined', '1.0.0': 'active' });
    const { out: difference } = await ok('skill', 'diff', 'acme.sample', '--json', ...STATE);
    expect(JSON.parse(difference)).toMatchObject({ widens: true, tools: { added: ['fetch'] } });
    expect((await call('fetch')).code).toBe('skill/quarantined');
    expect((await call('plain')).code).toBe('ok');

    await ok('skill', 'rollback', 'acme.sample', ...STATE);
    expect(await states()).toEqual({ '1.0.0': 'active' });
    expect((await call('plain')).code).toBe('ok');

    await ok('skill', 'install', second, ...STATE);
    await ok('skill', 'approve', 'acme.sample', ...REASON, ...STATE);
    expect(await states()).toEqual({ '1.1.0': 'active', '1.0.0': 'disabled' });
    expect(await call('keep')).toMatchObject({ code: 'ok', output: [0] });
    await ok('skill', 'rollback', 'acme.sample', ...STATE);
    expect(await states()).toEqual({ '1.1.0': 'disabled', '1.0.0': 'active' });
    expect(await call('keep')).toMatchObject({ code: 'ok', output: [-1] });

    await ok('skill', 'revoke', 'acme.sample', ...REASON, ...STATE);
    expect((await call('plain')).code).toBe('skill/revoked');
    await ok('journal', 'verify', ...STATE);
  },
  PATIENCE_MS,
);
