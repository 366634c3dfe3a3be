/** An honest package and a bench to audit it on; a test changes the one thing that it is about. */
import { digestBytes } from '../../../src/core/digest.ts';
import type { Asks } from '../../../src/core/wasm.ts';
import { Schemas } from '../../../src/registry/schema.ts';
import { auditPackage } from '../../../src/skills/audit/audit.ts';
import type { AuditBench, AuditFinding } from '../../../src/skills/audit/check.ts';
import type { Manifest, ManifestTool } from '../../../src/skills/manifest/manifest.ts';
import { makeBom } from '../../../src/skills/package/bom.ts';
import { makeProvenance } from '../../../src/skills/package/provenance.ts';
import { digestsOf, PACKAGE_FILES, type SkillPackage } from '../../../src/skills/package/skill-package.ts';
import {
  ABI_ALLOC,
  ABI_FUNCTIONS,
  ABI_MODULE,
  type AbiFunction,
} from '../../../src/tiers/a-wasm/engine/abi.table.ts';
import { linkToWorld, needOf, worldRow } from '../../../src/tiers/a-wasm/engine/world.ts';
import { wat } from '../../fixture/wat.ts';

const schemas = new Schemas();

export const BENCH: AuditBench = {
  abi: {
    module: ABI_MODULE,
    alloc: ABI_ALLOC,
    functions: ABI_FUNCTIONS.map((row) => ({ name: row.name, type: typeOf(row), needs: row.needs })),
  },
  linkComponent: (bytes) => {
    const linked = linkToWorld(bytes);
    const imports = linked.imports.map((each) => {
      const row = worldRow(each);
      return { ...each, need: row === undefined ? null : needOf(row), abi: row?.abi };
    });
    return { bytes: linked.bytes, imports };
  },
  schemaProblem: (schema) => {
    try {
      schemas.compile(schema);
      return null;
    } catch (error) {
      return String(error);
    }
  },
  trust: { ok: true, how: 'operator' },
  advisories: [],
  palisade: '0.1.0',
};

function typeOf({ params, result }: AbiFunction): string {
  return `(${params.map(([, type]) => type).join(', ')}) -> ${result ?? '()'}`;
}

export const NO_ASKS: Asks = {
  ...{ http: [], secrets: [], storage: { read: [], write: [] }, channels: [] },
  ...{ log: false, clock: false, random: false, config: null, allowWildcards: false },
};

export const TOOL: ManifestTool = {
  id: 'words',
  name: 'Count words',
  description: 'Counts the words of a text, and tells which is the longest.',
  risk: 'low',
  module: 'text.wasm',
  export: 'words',
  inputSchema: {
    type: 'object',
    properties: { text: { type: 'string', maxLength: 10_000, description: 'The text to count.' } },
    required: ['text'],
    additionalProperties: false,
  },
  outputSchema: { type: 'object', properties: { words: { type: 'integer' } }, additionalProperties: false },
  annotations: { readOnly: true, destructive: false, idempotent: true, openWorld: false },
};

export const MANIFEST: Manifest = {
  id: 'acme.text',
  name: 'Text tools',
  version: '1.2.0',
  publisher: 'acme',
  description: 'Counts and cuts text.',
  license: 'Apache-2.0',
  homepage: null,
  tools: [TOOL],
  asks: NO_ASKS,
  quotas: { wallMs: null, fuel: null, memoryBytes: null },
  trust: { reviewers: 1, reauditDays: null },
  compat: { abi: 1, palisadeMin: '0.1.0' },
  components: [],
  build: null,
};

/** The body of an honest module; `more` stands before and behind what every tool has. */
export function moduleText({ imports = '', more = '', tool = 'words' } = {}): string {
  return `(module ${imports} (memory (export "memory") 1 4)
    (func (export "palisade_alloc") (param i32) (result i32) (i32.const 1024))
    (func (export "${tool}") (param i32 i32) (result i64) (i64.const 0)) ${more})`;
}

export const HONEST = wat(moduleText());

export const SKILL_PROSE = `---
name: text
description: Counts and cuts text. Use it when somebody asks how long a text is.
---

# Text tools

Use \`words\` to count the words of a text. See <https://example.com/text> for the rules it follows.

<!-- toc -->

1. Give it the text.
2. Read the number.
`;

export const CASES = JSON.stringify({
  cases: [{ name: 'two words', tool: 'words', input: { text: 'a b' }, output: { words: 2 } }],
});

/** A manifest with some of it changed; `asks` and the first tool in part. */
export type Change = Partial<Omit<Manifest, 'asks' | 'tools'>> & {
  readonly asks?: Partial<Asks>;
  readonly tool?: Partial<ManifestTool>;
  readonly tools?: readonly ManifestTool[];
};

export type Contents = Readonly<Record<string, string | Uint8Array | null>>;

/** The honest package with changes; a file that is null is left out. */
export function packageWith(change: Change = {}, files: Contents = {}): SkillPackage {
  const { tool = {}, tools = [{ ...TOOL, ...tool }], asks = {}, ...rest } = change;
  const manifest: Manifest = { ...MANIFEST, ...rest, tools, asks: { ...NO_ASKS, ...asks } };
  const all: Contents = {
    [PACKAGE_FILES.manifest]: 'skill_id = "acme.text"\n',
    [PACKAGE_FILES.prose]: SKILL_PROSE,
    'text.wasm': HONEST,
    'tests/words.json': CASES,
    ...files,
  };
  const before = entriesOf(all);
  const digests = digestsOf(before);
  const made: Contents = {
    [PACKAGE_FILES.bom]: makeBom({ entries: before, digests }, manifest, '0.1.0'),
    [PACKAGE_FILES.provenance]: makeProvenance(digests, manifest, '0.1.0'),
    ...all,
  };
  const entries = entriesOf(made);
  return { artifact: digestBytes('package'), entries, manifest, digests: digestsOf(entries), signer: null };
}

function entriesOf(files: Contents): Map<string, Uint8Array> {
  const named = Object.entries(files).flatMap(([path, content]) =>
    content === null
      ? []
      : [[path, typeof content === 'string' ? new Uint8Array(Buffer.from(content)) : content] as const],
  );
  return new Map(named.sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** What an audit finds in a package, on the bench with some of it changed. */
export function audit(pkg: SkillPackage, bench: Partial<AuditBench> = {}): readonly AuditFinding[] {
  return auditPackage(pkg, { ...BENCH, ...bench });
}

/** The ids of what an audit refuses or warns of. */
export function gravely(findings: readonly AuditFinding[]): readonly string[] {
  return findings.filter(({ severity }) => severity !== 'note').map(({ id }) => id);
}
