import type { Asks } from '../../src/core/wasm.ts';
import type { Manifest, ManifestTool } from '../../src/skills/manifest/manifest.ts';

/** A skill that asks for nothing, with what a test wants otherwise. */
export function manifestWith(asks: Partial<Asks> = {}, more: Partial<Manifest> = {}): Manifest {
  return {
    ...{ id: 'acme.text', name: 'Text tools', version: '1.0.0', publisher: 'acme' },
    ...{ description: 'Counts words.', license: null, homepage: null },
    tools: [toolWith()],
    asks: {
      ...{ http: [], secrets: [], storage: { read: [], write: [] }, channels: [] },
      ...{ log: false, clock: false, random: false, config: null, allowWildcards: false },
      ...asks,
    },
    quotas: { wallMs: null, fuel: null, memoryBytes: null },
    trust: { reviewers: 1, reauditDays: null },
    compat: { abi: 1, palisadeMin: null },
    components: [],
    build: null,
    ...more,
  };
}

export function toolWith(more: Partial<ManifestTool> = {}): ManifestTool {
  return {
    ...{ id: 'words', name: 'Count words', description: 'Counts the words of a text.' },
    ...{ risk: 'low', module: 'text.wasm', export: 'words' },
    inputSchema: { type: 'object', additionalProperties: false },
    outputSchema: { type: 'object' },
    annotations: { readOnly: true, destructive: false, idempotent: true, openWorld: false },
    ...more,
  };
}

/** Asks for something of every kind. */
export const ASKS_FOR_MUCH: Partial<Asks> = {
  http: ['api.example.com:443', 'GET https://files.example.com/v1/'],
  secrets: [
    { name: 'api_token', scope: 'skill', mayReveal: false, hosts: ['api.example.com'] },
    { name: 'seed', scope: 'tenant', mayReveal: true, hosts: ['api.example.com'] },
  ],
  storage: { read: ['notes/', 'shared/'], write: ['notes/'] },
  channels: [{ name: 'news', publish: true, receive: true }],
  ...{ log: true, clock: true, random: true, config: ['unit', 'lang'] },
};
