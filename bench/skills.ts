import { spawnSync } from 'node:child_process';
import { mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import { documentOf, generateKey } from '../packages/gateway/src/attest/key-files.ts';
import { readEnvironment } from '../packages/gateway/src/config/environment.ts';
import { digestBytes } from '../packages/gateway/src/core/digest.ts';
import type { Gateway, Opened } from '../packages/gateway/src/invoke/gateway.ts';
import { approveSkill } from '../packages/gateway/src/invoke/skills/approve.ts';
import { auditBench } from '../packages/gateway/src/invoke/skills/examine.ts';
import { installSkill } from '../packages/gateway/src/invoke/skills/install.ts';
import { addTrust } from '../packages/gateway/src/invoke/skills/trust.ts';
import { openGateway } from '../packages/gateway/src/open.ts';
import { auditPackage } from '../packages/gateway/src/skills/audit/audit.ts';
import { pageOf, skillAt } from '../packages/gateway/src/skills/index/read.ts';
import { addVersion, changeVersion } from '../packages/gateway/src/skills/index/write.ts';
import { openPackage } from '../packages/gateway/src/skills/package/open-package.ts';
import { packSkill, signPackage } from '../packages/gateway/src/skills/package/pack.ts';
import { BROTLI } from '../tests/fixtures/modules/programs/codecs.ts';
import { never } from './bed.ts';
import { type BenchOptions, compare, type Figure, scaled, spreadOf, timesOf } from './measure.ts';

/* What a skill costs: to look at once, to find at every call, and to have ten thousand of. */

const BIN = join(process.cwd(), 'packages/gateway/bin/palisade.js');
const WHO = { by: { kind: 'user', name: 'bench' }, tenant: 'default' } as const;
const KEY = generateKey(0);
const INSTALLED = 10_000;

export async function run({ quick, scratch }: BenchOptions): Promise<Figure[]> {
  const bytes = brotliPackage();
  const empty = mkdtempSync(join(scratch, 'empty-'));
  const full = mkdtempSync(join(scratch, 'full-'));
  const gateway = await open(full);
  try {
    const looked = await lookAt(gateway, bytes, quick ? 5 : 25);
    const found = await findAgain(gateway, bytes, quick ? 20 : 100);
    await fill(gateway, quick ? 1_000 : INSTALLED);
    const paged = await pages(gateway, quick ? 20 : 200);
    const crowded = await foundAmong(gateway, quick ? 20 : 100);
    await gateway.close();
    return [...looked, ...found, ...crowded, ...paged, ...(await starts(full, empty, quick ? 5 : 25))];
  } finally {
    await gateway.close();
  }
}

function open(stateDir: string): Promise<Opened<Gateway>> {
  return openGateway({ stateDir, env: readEnvironment({}), version: '0.1.0' });
}

/** Both exports of the program are tools, since an audit lets none be there without a word. */
const TOOLS = ['tool', 'same'].map(
  (name) => `
[[entrypoints.tools]]
id = "${name}"
name = "The tool ${name}"
description = "Compresses what it is given."
risk = "low"
module = "brotli.wasm"
export = "${name}"
input_schema = { type = "object", additionalProperties = false }
output_schema = { type = "object", additionalProperties = false }
`,
);

const MANIFEST = `skill_id = "bench.brotli"
name = "Bench"
version = "1.0.0"
publisher = "bench"
description = "Made for a bench."
${TOOLS.join('')}`;

/** A real program of 1.1 MB behind our ABI, packed and signed. */
function brotliPackage(): Uint8Array {
  const files = new Map<string, Uint8Array>([
    ['skill.toml', Buffer.from(MANIFEST)],
    ['SKILL.md', Buffer.from('---\nname: brotli\ndescription: Compresses.\n---\n\nCompresses text.\n')],
    ['brotli.wasm', BROTLI.compress()],
  ]);
  return signPackage(packSkill(files, { palisade: '0.1.0' }), KEY);
}

async function lookAt(gateway: Gateway, bytes: Uint8Array, rounds: number): Promise<Figure[]> {
  await addTrust(gateway, { ...WHO, publisher: 'bench', document: documentOf(KEY, null), expiresAtMs: null });
  const both = await timesOf(rounds, async () => {
    const pkg = await openPackage(bytes);
    auditPackage(pkg, await auditBench(gateway, pkg));
  });
  const opened = await timesOf(rounds, () => openPackage(bytes));
  const note = `${(bytes.length / 1e6).toFixed(1)} MB, a real program`;
  return [
    { name: 'verify and audit a package', unit: 'ms', spread: spreadOf(both), goal: { atMost: 200 }, note },
    { name: 'verify it alone', unit: 'ms', spread: spreadOf(opened), note },
  ];
}

/** How long the registry takes to find the tool of a skill and to look whether it is still what was approved. */
async function findAgain(gateway: Gateway, bytes: Uint8Array, rounds: number): Promise<Figure[]> {
  const { skill } = await installSkill(gateway, { ...WHO, bytes, allowDowngrade: false, signal: never() });
  await approveSkill(gateway, {
    ...{ ...WHO, id: skill.id, version: null, withhold: [], limits: {}, config: {}, reason: 'bench' },
    ...{ acceptFindings: true, enable: true },
  });
  const figure = await foundFigure(gateway, rounds);
  return [{ ...figure, name: 'find a skill and check it, warm', goal: { atMost: 20 } }];
}

async function foundFigure(gateway: Gateway, rounds: number): Promise<Figure> {
  const look = () => {
    const found = gateway.registry.look('bench.brotli.tool');
    if (found === undefined || !('tool' in found)) throw new Error('Cannot measure: the tool is not there');
  };
  const times = await timesOf(rounds, () => {
    for (let call = 0; call < 200; call += 1) look();
  });
  return { name: '', unit: 'us', spread: scaled(spreadOf(times), 1_000 / 200) };
}

/** Rows as installs make them, without their packages, which nobody calls. */
async function fill(gateway: Gateway, count: number): Promise<void> {
  const { clock, store } = gateway;
  const model = skillAt(store, 'bench.brotli', '1.0.0');
  if (model === null || model.grant === null || model.report === null)
    throw new Error('Cannot fill: no model');
  const { manifest, grant, report, keyId, trust } = model;
  const [atMs, by] = [clock.nowMs(), 'user:bench'];
  for (let from = 0; from < count; from += 500) {
    await store.commit((tx) => {
      for (let index = from; index < Math.min(count, from + 500); index += 1) {
        const id = `bench.skill-${index}`;
        const [version, artifact] = ['1.0.0', digestBytes(id)];
        const own = { ...report, skill: id, artifact };
        const row = { id, version, publisher: 'bench', name: 'Bench', artifact, keyId, trust };
        addVersion(tx, { ...row, manifest: { ...manifest, id }, installedAtMs: atMs, installedBy: by });
        const step = { id, version, atMs, by, reason: null };
        changeVersion(tx, { ...step, from: 'ingested', to: 'audited', report: own });
        changeVersion(tx, { ...step, from: 'audited', to: 'quarantined' });
        changeVersion(tx, { ...step, from: 'quarantined', to: 'approved', grant, approvedBy: [by] });
        changeVersion(tx, { ...step, from: 'approved', to: 'active' });
      }
    });
  }
}

async function foundAmong(gateway: Gateway, rounds: number): Promise<Figure[]> {
  return [{ ...(await foundFigure(gateway, rounds)), name: 'the same among 10,000' }];
}

async function pages({ store }: Gateway, rounds: number): Promise<Figure[]> {
  let after: string | null = null;
  const times = await timesOf(rounds, () => {
    const page: ReturnType<typeof pageOf> = pageOf(store, { after, limit: 50, state: null });
    after = page.next;
  });
  return [{ name: 'a page of 50 of 10,000', unit: 'ms', spread: spreadOf(times), goal: { atMost: 20 } }];
}

/** The whole process, from spawn to exit, of a call that has nothing to do with skills. */
async function starts(full: string, empty: string, rounds: number): Promise<Figure[]> {
  const call = (state: string) => () => {
    const words = [BIN, 'call', 'palisade.echo', '--input', '{"message":"hi"}', '--state', state];
    const { status, stderr } = spawnSync(process.execPath, words, { encoding: 'utf8' });
    if (status !== 0) throw new Error(`Cannot measure start: it ended with ${status}\n${stderr}`);
  };
  const { ratio, ours, bare } = await compare(rounds, 1, call(full), call(empty));
  return [
    { name: 'start with 10,000 skills / with none', unit: 'x', spread: ratio, goal: { atMost: 1.2 } },
    { name: 'palisade call palisade.echo, 10,000 skills', unit: 'ms', spread: ours },
    { name: 'palisade call palisade.echo, none', unit: 'ms', spread: bare },
  ];
}
