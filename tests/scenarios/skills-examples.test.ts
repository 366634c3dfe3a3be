import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import type { Json } from '../../packages/gateway/src/core/json.ts';
import type { Tool } from '../../packages/gateway/src/core/tool.ts';
import { auditBench } from '../../packages/gateway/src/invoke/skills/examine.ts';
import { runCases } from '../../packages/gateway/src/invoke/skills/run-cases.ts';
import { skillTools } from '../../packages/gateway/src/registry/skill-tool.ts';
import { auditPackage } from '../../packages/gateway/src/skills/audit/audit.ts';
import { parseCases, type SkillCase } from '../../packages/gateway/src/skills/audit/cases.ts';
import { narrowGrant } from '../../packages/gateway/src/skills/grant.ts';
import type { Manifest } from '../../packages/gateway/src/skills/manifest/manifest.ts';
import { openPackage } from '../../packages/gateway/src/skills/package/open-package.ts';
import { packSkill } from '../../packages/gateway/src/skills/package/pack.ts';
import type { SkillPackage } from '../../packages/gateway/src/skills/package/skill-package.ts';
import { sharedModules } from '../fixtures/modules/index.ts';
import { ROOT } from '../fixtures/skills/build.ts';
import { BUILD_MS, DRAWN_SKILLS, EXAMPLE_SKILLS, exampleSkill } from '../fixtures/skills/example-skills.ts';
import { warmUp } from '../fixtures/skills/warm-up.ts';

/* Every skill of the folder `skills`: built from its source, packed, audited, and all of its cases run as they are. */

const VERSION = '0.1.0';
const LEAST_CASES = 5;
/** What the skills ask for at most; by default a call has less. */
const MOST_FUEL = 50_000_000;
/** A filler that is neither one long word nor all the same. */
const WORDS = 'The *quick* brown fox jumps\nover 13 lazy dögs. ';

beforeAll(async () => void (await Promise.all(DRAWN_SKILLS.map(exampleSkill))), BUILD_MS);
const packages = new Map<string, SkillPackage>();
const { call, opened } = sharedModules(async () => {
  for (const { name, files } of await Promise.all(DRAWN_SKILLS.map(exampleSkill)))
    packages.set(name, openPackage(packSkill(files, { palisade: VERSION })));
  return { config: `[limits]\nfuel = ${MOST_FUEL}\n`, tools: [...packages.values()].flatMap(toolsOf) };
});
beforeAll(async () => {
  for (const pkg of packages.values()) await warmUp(opened().gateway, pkg);
});

/** Its tools, which reach no other machine. They are not installed, and so of no skill that could be taken out of use. */
function toolsOf({ manifest, artifact, digests, entries }: SkillPackage): readonly Tool[] {
  const read = async (path: string) => entries.get(path) ?? new Uint8Array();
  const withhold = manifest.asks.http.map((entry) => `http=${entry}`);
  const grant = narrowGrant(manifest, { withhold, limits: {}, config: {} });
  const tools = skillTools({
    manifest,
    artifact,
    digests,
    grant,
    trust: 'operator',
    modules: undefined,
    read,
  });
  return tools.map(({ skill: _, ...tool }) => tool);
}

function packageOf(name: string): SkillPackage {
  const found = packages.get(name);
  if (found === undefined) throw new Error(`Cannot find ${name}: it was not built`);
  return found;
}

function casesOf({ entries, manifest }: SkillPackage): readonly SkillCase[] {
  const parsed = parseCases(entries, manifest);
  if (!parsed.ok) throw new Error(`${parsed.problem.file}: ${parsed.problem.is}`);
  return parsed.value;
}

const onlyComputes = ({ asks }: Manifest) =>
  asks.http.length + asks.storage.write.length === 0 && !asks.clock && !asks.random;

type Property = { readonly type?: Json; readonly maxLength?: number; readonly pattern?: string };

/** The texts of an input that may be anything but too long. */
function freeTexts({ inputSchema }: Manifest['tools'][number]): readonly (readonly [string, number])[] {
  const properties = Object.entries((inputSchema.properties ?? {}) as Record<string, Property>);
  return properties.flatMap(([key, { maxLength, pattern }]) =>
    maxLength === undefined || pattern !== undefined ? [] : [[key, maxLength] as const],
  );
}

/** An input that a tool takes, as one of its cases has it; where it makes something new it needs none. */
function inputOf(pkg: SkillPackage, tool: string): Record<string, Json> {
  const isTaken = ({ expect: end }: SkillCase) => 'output' in end || end.code === 'tier/tool-error';
  const found = casesOf(pkg).find((each) => each.tool === tool && isTaken(each));
  return JSON.parse(found?.inputText ?? '{}');
}

describe.each(DRAWN_SKILLS)('the skill %s', (name) => {
  test('has no problem that an audit refuses or warns of', async () => {
    const pkg = packageOf(name);
    const bench = await auditBench(opened().gateway, pkg);
    const findings = auditPackage(pkg, {
      ...bench,
      ...{ palisade: VERSION, trust: { ok: true, how: 'operator' } },
    });
    expect(findings.filter(({ severity }) => severity !== 'note')).toEqual([]);
  });

  test('ends all of its cases as they say', async () => {
    const results = await runCases(opened().gateway, {
      ...{ pkg: packageOf(name), by: { kind: 'user', name: 'author' }, tenant: 'default' },
      ...{ withCapabilities: true, signal: new AbortController().signal },
    });
    const others = results.filter(({ verdict }) => verdict !== 'passed');
    expect(others.map(({ case: { file, name: title }, why }) => `${file}: ${title}: ${why}`)).toEqual([]);
    expect(results.length).toBeGreaterThan(0);
  });

  test('has cases for each tool, and for what only computes enough of them', () => {
    const pkg = packageOf(name);
    const cases = casesOf(pkg);
    for (const { id } of pkg.manifest.tools) {
      const count = cases.filter(({ tool }) => tool === id).length;
      expect([id, count >= (onlyComputes(pkg.manifest) ? LEAST_CASES : 1)]).toEqual([id, true]);
    }
  });

  test('refuses every text that is longer than its schema says', async () => {
    const pkg = packageOf(name);
    for (const tool of pkg.manifest.tools)
      for (const [key, most] of freeTexts(tool)) {
        const input = { ...inputOf(pkg, tool.id), [key]: 'a'.repeat(most + 1) };
        const { code } = await call(`${pkg.manifest.id}.${tool.id}`, input);
        expect([tool.id, key, code]).toEqual([tool.id, key, 'registry/invalid-input']);
      }
  });

  test('needs no more fuel and memory than it asks for where its texts are as long as they may be', async () => {
    const pkg = packageOf(name);
    for (const tool of pkg.manifest.tools) {
      const texts = freeTexts(tool).map(([key, most]) => [key, fill(WORDS, most)] as const);
      const input = { ...inputOf(pkg, tool.id), ...Object.fromEntries(texts) };
      const { code } = await call(`${pkg.manifest.id}.${tool.id}`, input);
      expect([tool.id, code]).toEqual([tool.id, expect.stringMatching(/^(ok|tier\/tool-error)$/)]);
    }
  });
});

function fill(words: string, characters: number): string {
  return words.repeat(Math.ceil(characters / words.length)).slice(0, characters);
}

describe('the folder of skills', () => {
  const folder = join(ROOT, 'skills');

  test('has the skills that are tested here and no others', () => {
    const names = readdirSync(folder, { withFileTypes: true }).flatMap((entry) =>
      entry.isDirectory() ? [entry.name] : [],
    );
    expect(names.sort()).toEqual([...EXAMPLE_SKILLS].sort());
  });

  test('tells of every skill and of every tool in its README', () => {
    const readme = readFileSync(join(folder, 'README.md'), 'utf8');
    for (const [name, { manifest }] of packages) {
      const row =
        readme.split('\n').find((line) => line.startsWith(`| [\`${name}\`](${name}/SKILL.md) |`)) ?? '';
      for (const { id } of manifest.tools)
        expect([name, row]).toEqual([name, expect.stringContaining(`\`${id}\``)]);
    }
  });

  test('is packed into the same bytes by everybody', async () => {
    const { files } = await exampleSkill(DRAWN_SKILLS[0] ?? '');
    const turned = new Map([...files].reverse());
    expect(
      Buffer.from(packSkill(turned, { palisade: VERSION })).equals(packSkill(files, { palisade: VERSION })),
    ).toBe(true);
  });
});
