import { describe, expect, test } from 'vitest';
import type { Asks } from '../../packages/gateway/src/core/wasm.ts';
import type { ManifestTool } from '../../packages/gateway/src/skills/manifest/manifest.ts';
import {
  audit,
  type Change,
  gravely,
  packageWith,
  TOOL,
} from '../../packages/gateway/test/skills/audit/sample.ts';
import { CORE, type Language, skillBuilder } from '../fixtures/skills/build.ts';

const build = skillBuilder();
const built = new Map<string, ReturnType<typeof build>>();

const STORAGE: Partial<Asks> = { storage: { read: ['visits/'], write: ['visits/'] } };
const ALL: Partial<Asks> = {
  ...STORAGE,
  http: ['api.example.com:443'],
  secrets: [{ name: 'token', scope: 'skill', mayReveal: false, hosts: ['api.example.com'] }],
  channels: [{ name: 'news', publish: true, receive: true }],
  ...{ log: true, clock: true, random: true, config: ['unit'] },
};
const WRITES: Partial<ManifestTool> = {
  risk: 'medium',
  annotations: { readOnly: false, destructive: true, idempotent: false, openWorld: true },
};

async function findings(language: Language, name: string, change: Change) {
  const key = `${language} ${name}`;
  const building = built.get(key) ?? build(language, name);
  built.set(key, building);
  const { bytes } = await building;
  return audit(packageWith(change, { 'text.wasm': bytes }));
}

describe.each(['assemblyscript', 'c'] as const)('an example in %s', (language) => {
  test.each([
    ['echo', { tool: { export: 'echo' } }],
    ['words', {}],
    ['visits', { asks: STORAGE, tool: { ...WRITES, export: 'visit' } }],
    ['everything', { asks: ALL, tool: { ...WRITES, export: 'everything' } }],
  ] as const)('%s passes its audit, and nobody has to accept anything', async (name, change) => {
    expect(gravely(await findings(language, name, change))).toEqual([]);
  });
});

test.each(CORE)('a skill in %s that hides what it uses is refused', async (language) => {
  expect(gravely(await findings(language, 'visits', { tool: { export: 'visit' } }))).toContain(
    'module/undeclared-import',
  );
});

describe('the component', () => {
  const tools = [
    TOOL,
    {
      ...TOOL,
      ...WRITES,
      id: 'visit',
      name: 'Visit',
      description: 'Counts the visits of a page.',
      export: 'visit',
    },
  ];

  test('passes its audit, and nobody has to accept anything', async () => {
    expect(gravely(await findings('javascript', 'skill', { tools, asks: STORAGE }))).toEqual([]);
  });

  test('is refused when its manifest does not ask for what it imports', async () => {
    expect(gravely(await findings('javascript', 'skill', { tools }))).toContain('module/undeclared-import');
  });
});
