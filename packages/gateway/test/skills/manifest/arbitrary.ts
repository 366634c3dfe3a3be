import fc from 'fast-check';
import { stringify } from 'smol-toml';
import type { Json } from '../../../src/core/json.ts';
import { LIMIT_CEILINGS } from '../../../src/core/limits.ts';
import type { JsonSchema } from '../../../src/core/tool.ts';
import type { Asks } from '../../../src/core/wasm.ts';
import type { Manifest, ManifestTool } from '../../../src/skills/manifest/manifest.ts';

/*
 * Manifests that the rules of docs/skill-package.md allow, made without the code that checks them, and the files that say
 * them.
 */

const publisher = fc
  .stringMatching(/^[a-z0-9]{1,6}(-[a-z0-9]{1,6}){0,2}$/)
  .filter((name) => !['palisade', 'local', 'test'].includes(name));
const segment = fc.stringMatching(/^[a-z0-9]{1,6}(-[a-z0-9]{1,6})?$/);
const toolId = fc.stringMatching(/^[a-z0-9]([a-z0-9_-]{0,8}[a-z0-9])?$/);
const capability = fc.stringMatching(/^[a-z0-9]([a-z0-9._-]{0,8}[a-z0-9])?$/);
const letter = fc.constantFrom(...'abcXYZ019', 'é', '日', '😀', '"', "'", '\\', '#', '=', '[', '.', '…');
/** Words with single spaces between them. */
const words = fc
  .array(fc.string({ unit: letter, minLength: 1, maxLength: 6 }), { minLength: 1, maxLength: 5 })
  .map((parts) => parts.join(' '));
const version = fc.stringMatching(
  /^(0|[1-9][0-9]{0,3})\.(0|[1-9][0-9]{0,3})\.(0|[1-9][0-9]{0,3})(-[a-z]{1,4}\.[1-9])?(\+[a-z0-9]{1,4})?$/,
);
const path = fc.stringMatching(/^[bd-kmoq-z0-9_][a-z0-9_-]{0,5}(\/[bd-kmoq-z0-9_][a-z0-9_-]{0,5}){0,3}$/);
const host = fc.stringMatching(/^[a-z]{1,5}(\.[a-z]{2,5}){1,2}$/);
const port = fc.integer({ min: 1, max: 65_535 });
const root = fc
  .stringMatching(/^[a-zé0-9_]{1,5}(\/[a-z0-9_]{1,5}){0,2}$/)
  .map((text) => text.normalize('NFC'));
const option = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: null });

/** What both TOML and JSON can say. */
const { json } = fc.letrec<{ json: Json }>((tie) => ({
  json: fc.oneof(
    { maxDepth: 4, depthIdentifier: 'json' },
    fc.boolean(),
    fc.maxSafeInteger(),
    fc.double({ min: -1e15, max: 1e15, noNaN: true }).map((value) => value + 0 || 0),
    words,
    fc.array(tie('json'), { maxLength: 3, depthIdentifier: 'json' }),
    keyed(tie('json')),
  ),
}));

function keyed(value: fc.Arbitrary<Json>): fc.Arbitrary<JsonSchema> {
  const key = fc.oneof(words, fc.constantFrom('', 'constructor', 'toString', '$ref', 'type'));
  return fc.dictionary(key, value, { maxKeys: 3, noNullPrototype: true, depthIdentifier: 'json' });
}

const schema = keyed(json);

const tool: fc.Arbitrary<ManifestTool> = fc.record({
  id: toolId,
  name: words,
  description: words,
  risk: fc.constantFrom('low', 'medium', 'high'),
  module: path.map((text) => `${text}.wasm`),
  export: words,
  inputSchema: schema.map((each) => ({ ...each, type: 'object' })),
  outputSchema: schema,
  annotations: fc.record({
    readOnly: fc.boolean(),
    destructive: fc.boolean(),
    idempotent: fc.boolean(),
    openWorld: fc.boolean(),
  }),
});

const asks: fc.Arbitrary<Asks> = fc
  .record({
    http: fc.uniqueArray(
      fc.tuple(host, port).map(([name, number]) => `${name}:${number}`),
      { maxLength: 4 },
    ),
    names: fc.uniqueArray(capability, { maxLength: 4 }),
    scope: fc.constantFrom('global' as const, 'tenant' as const, 'principal' as const, 'skill' as const),
    reveals: fc.boolean(),
    storage: fc.record({
      read: fc.uniqueArray(root, { maxLength: 3 }),
      write: fc.uniqueArray(root, { maxLength: 3 }),
    }),
    channels: fc.uniqueArray(fc.record({ name: capability, publish: fc.boolean(), receive: fc.boolean() }), {
      maxLength: 3,
      selector: ({ name }) => name,
    }),
    log: fc.boolean(),
    clock: fc.boolean(),
    random: fc.boolean(),
    config: option(fc.uniqueArray(capability, { maxLength: 3 })),
    allowWildcards: fc.boolean(),
  })
  .map(({ names, scope, reveals, channels, ...rest }) => ({
    ...rest,
    secrets: names.flatMap((name) =>
      reveals || rest.http.length > 0
        ? [{ name, scope, mayReveal: reveals, hosts: rest.http.slice(0, 2) }]
        : [],
    ),
    channels: channels.map((channel) => ({ ...channel, publish: channel.publish || !channel.receive })),
  }));

export const manifests: fc.Arbitrary<Manifest> = fc
  .record({
    publisher,
    segments: fc.array(segment, { minLength: 1, maxLength: 2 }),
    name: words,
    version,
    description: words,
    license: option(fc.constantFrom('MIT', 'Apache-2.0 OR ISC', '(MIT)')),
    homepage: option(host.map((name) => `https://${name}/a?b=c`)),
    tools: fc.uniqueArray(tool, { minLength: 1, maxLength: 3, selector: ({ id }) => id }),
    asks,
    quotas: fc.record({
      wallMs: option(fc.integer({ min: 1, max: LIMIT_CEILINGS.wallMs })),
      fuel: option(fc.integer({ min: 1, max: LIMIT_CEILINGS.fuel })),
      memoryBytes: option(fc.integer({ min: 1, max: LIMIT_CEILINGS.memoryBytes })),
    }),
    trust: fc.record({
      reviewers: fc.integer({ min: 1, max: 5 }),
      reauditDays: option(fc.integer({ min: 1, max: 365 })),
    }),
    compat: fc.record({ abi: fc.constant(1 as const), palisadeMin: option(version) }),
    components: fc.array(
      fc.record({
        name: segment,
        version,
        purl: option(segment.map((text) => `pkg:npm/${text}@1`)),
        license: option(fc.constant('MIT')),
      }),
      { maxLength: 2 },
    ),
    build: option(
      fc.record({
        language: fc.constantFrom(
          'assemblyscript' as const,
          'c' as const,
          'go' as const,
          'javascript' as const,
          'python' as const,
          'rust' as const,
        ),
        modules: fc.uniqueArray(fc.record({ source: path, module: path.map((text) => `${text}.wasm`) }), {
          minLength: 1,
          maxLength: 2,
          selector: ({ module }) => module,
        }),
      }),
    ),
  })
  .map(({ segments, ...rest }) => ({ id: [rest.publisher, ...segments].join('.'), ...rest }));

/** A manifest as a file says it. */
export function writeManifest(manifest: Manifest): string {
  const { asks: asked, quotas, compat, trust } = manifest;
  return stringify(
    without({
      skill_id: manifest.id,
      name: manifest.name,
      version: manifest.version,
      publisher: manifest.publisher,
      description: manifest.description,
      license: manifest.license,
      homepage: manifest.homepage,
      entrypoints: { tools: manifest.tools.map(writeTool) },
      capabilities: {
        http_egress_allowlist: asked.http,
        allow_wildcards: asked.allowWildcards,
        log: asked.log,
        clock: asked.clock,
        random: asked.random,
        config: asked.config,
        channels: asked.channels,
        filesystem: { read_roots: asked.storage.read, write_roots: asked.storage.write },
        secrets: asked.secrets.map(({ name, scope, mayReveal, hosts }) => ({
          scope,
          keys: [name],
          use: mayReveal ? 'reveal' : 'send',
          hosts,
        })),
        quotas: { wall_clock_ms: quotas.wallMs, fuel: quotas.fuel, memory_bytes: quotas.memoryBytes },
      },
      trust: { reviewers: trust.reviewers, reaudit_days: trust.reauditDays },
      compat: { abi: compat.abi, palisade_min: compat.palisadeMin },
      components: manifest.components,
      build: manifest.build,
    }),
  );
}

function writeTool({ inputSchema, outputSchema, annotations, ...tool }: ManifestTool) {
  const { readOnly, destructive, idempotent, openWorld } = annotations;
  return {
    ...tool,
    input_schema: inputSchema,
    output_schema: outputSchema,
    annotations: { read_only: readOnly, destructive, idempotent, open_world: openWorld },
  };
}

/** The same without what is null, which TOML cannot say. */
function without(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(without);
  if (typeof value !== 'object' || value === null) return value;
  const kept = Object.entries(value).filter(([, each]) => each !== null);
  return Object.fromEntries(kept.map(([name, each]) => [name, without(each)]));
}
