import { describe, expect, it } from 'vitest';
import { digestBytes } from '../../src/core/digest.ts';
import { DEFAULT_LIMITS } from '../../src/core/limits.ts';
import type { ToolAnnotations } from '../../src/core/tool.ts';
import { Registry } from '../../src/registry/registry.ts';
import { Schemas } from '../../src/registry/schema.ts';
import { skillTools } from '../../src/registry/skill-tool.ts';
import { narrowGrant, type SkillGrant, wholeGrant } from '../../src/skills/grant.ts';
import type { Manifest } from '../../src/skills/manifest/manifest.ts';
import type { Imports } from '../../src/skills/reach.ts';

const MODULE = digestBytes('module');
const LIES: ToolAnnotations = { readOnly: true, destructive: false, idempotent: true, openWorld: false };

const MANIFEST: Manifest = {
  ...{ id: 'acme.notes', name: 'Notes', version: '1.0.0', publisher: 'acme', description: 'Keeps notes.' },
  ...{ license: null, homepage: null, components: [], build: null },
  tools: [
    {
      ...{ id: 'keep', name: 'Keep a note', description: 'Keeps a note.', risk: 'low', module: 'notes.wasm' },
      ...{ export: 'keep', inputSchema: { type: 'object' }, outputSchema: {}, annotations: LIES },
    },
  ],
  asks: {
    http: ['api.example.com:443', 'other.example.com:443'],
    secrets: [{ name: 'token', scope: 'skill', mayReveal: false, hosts: ['api.example.com'] }],
    storage: { read: ['notes/'], write: ['notes/'] },
    channels: [],
    ...{ log: true, clock: false, random: false, config: null, allowWildcards: false },
  },
  quotas: { wallMs: 1_000, fuel: null, memoryBytes: null },
  trust: { reviewers: 1, reauditDays: null },
  compat: { abi: 1, palisadeMin: null },
};

function toolWith(grant: SkillGrant, modules: Imports = undefined) {
  const [tool] = skillTools({
    ...{ manifest: MANIFEST, artifact: digestBytes('package'), grant, trust: 'operator', modules },
    digests: new Map([['notes.wasm', MODULE]]),
    read: async () => Buffer.from('module'),
  });
  if (tool === undefined) throw new Error('Cannot test: there is no tool');
  return tool;
}

const narrowed = (...withhold: string[]) =>
  toolWith(narrowGrant(MANIFEST, { withhold, limits: {}, config: {} }));

describe('skillTools()', () => {
  it('names the tool after its skill, and the skill for the policies', () => {
    expect(toolWith(wholeGrant(MANIFEST))).toMatchObject({
      ...{ id: 'acme.notes.keep', title: 'Keep a note', tier: 'a', category: 'skill' },
      skill: { id: 'acme.notes', version: '1.0.0', publisher: 'acme', trust: 'operator' },
      limits: { wallMs: 1_000 },
    });
  });

  it('shows the policies what was granted, and nothing that was withheld', () => {
    expect(toolWith(wholeGrant(MANIFEST)).capabilities).toEqual(['http', 'secret', 'storage', 'log']);
    expect(narrowed('all').capabilities).toEqual(['log']);
    expect(narrowed('http=api.example.com:443').hosts({})).toEqual(['other.example.com']);
  });

  it('keeps the places of what was withheld, so that no handle means another capability', () => {
    const { executor } = narrowed('http=api.example.com:443');
    expect(executor).toMatchObject({
      kind: 'wasm',
      program: { skill: 'acme.notes', sha256: MODULE, grants: { http: [null, 'other.example.com:443'] } },
    });
  });

  it('does not let a manifest play its risk down, and believes it where nothing is reached', () => {
    expect(toolWith(wholeGrant(MANIFEST)).risk).toBe('medium');
    expect(narrowed('all').risk).toBe('low');
  });

  it('does not repeat annotations that the grant makes untrue', () => {
    expect(toolWith(wholeGrant(MANIFEST)).annotations).toMatchObject({ readOnly: false, openWorld: true });
    expect(narrowed('all').annotations).toMatchObject({
      readOnly: true,
      destructive: false,
      openWorld: false,
    });
  });

  it('has and runs with as much of the grant as its own module can use', () => {
    const imports = (names: readonly string[]) => [{ path: 'notes.wasm', imports: names }];
    const logging = toolWith(wholeGrant(MANIFEST), imports(['log']));
    expect(logging).toMatchObject({ risk: 'low', capabilities: ['log'] });
    expect(logging.hosts({})).toEqual([]);
    expect(logging.executor).toMatchObject({
      program: {
        grants: { http: [null, null], secrets: [{ hosts: [] }], storage: [{ read: [], write: [] }] },
      },
    });
    const storing = toolWith(wholeGrant(MANIFEST), imports(['storage_put']));
    expect(storing).toMatchObject({ risk: 'medium', capabilities: ['storage'] });
    expect(storing.executor).toMatchObject({
      program: { grants: { storage: [{ read: [], write: ['notes/'] }] } },
    });
  });

  it('is another tool under another grant, so that no approval of a call goes over to it', () => {
    const digestWith = (grant: SkillGrant) =>
      new Registry({
        ...{ tools: [toolWith(grant)], input: { maxBytes: 1_000, maxDepth: 8 } },
        ...{ limits: DEFAULT_LIMITS, ceilings: DEFAULT_LIMITS, loadSchemas: async () => new Schemas() },
      }).find('acme.notes.keep')?.digest;
    const whole = digestWith(wholeGrant(MANIFEST));
    const less = narrowGrant(MANIFEST, { withhold: ['http=other.example.com:443'], limits: {}, config: {} });
    expect(whole).toBeDefined();
    expect(digestWith(less)).not.toBe(whole);
  });

  it('throws for a package that lacks a module, instead of running nothing', () => {
    const lacking = {
      manifest: MANIFEST,
      artifact: digestBytes('package'),
      trust: 'operator',
      modules: undefined,
    } as const;
    const read = async () => new Uint8Array(0);
    expect(() => skillTools({ ...lacking, grant: wholeGrant(MANIFEST), digests: new Map(), read })).toThrow(
      'notes.wasm',
    );
  });
});
