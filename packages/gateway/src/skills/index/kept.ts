import { canonicalize } from '@palisade/sdk';
import { CodedError } from '../../core/coded-error.ts';
import type { Digest } from '../../core/digest.ts';
import { parseStrict } from '../../core/strict-json.ts';
import type { JsonSchema, ToolAnnotations } from '../../core/tool.ts';
import type { SecretGrant, WasmGrants } from '../../core/wasm.ts';
import type { AuditFinding, AuditReport, CaseCounts } from '../audit/check.ts';
import type { SkillGrant } from '../grant.ts';
import { KEPT_LIMITS } from '../limits.ts';
import type {
  AskedChannel,
  AskedSecret,
  Asks,
  Manifest,
  ManifestBuild,
  ManifestComponent,
  ManifestTool,
  Quotas,
} from '../manifest/manifest.ts';

/* What of a skill is kept as text: canonical JSON, checked for its shape when it is read back. */

/* Guards tell whether a value has its type. They are for what we wrote ourselves: there is nothing to explain to a person. */

type Guard<T> = (value: unknown) => value is T;

const isText: Guard<string> = (value) => typeof value === 'string';
const isFlag: Guard<boolean> = (value) => typeof value === 'boolean';
const isWhole: Guard<number> = (value): value is number => Number.isSafeInteger(value) && Number(value) >= 0;

/** Any object but a list. */
const isObject = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** One of these very values. */
function oneOf<const T extends string | number>(...values: readonly T[]): Guard<T> {
  return (value): value is T => values.includes(value as T);
}

function orNull<T>(shape: Guard<T>): Guard<T | null> {
  return (value): value is T | null => value === null || shape(value);
}

function listOf<T>(shape: Guard<T>): Guard<readonly T[]> {
  return (value): value is readonly T[] => Array.isArray(value) && value.every(shape);
}

/** Any keys, and values of one shape. */
function recordOf<T>(shape: Guard<T>): Guard<Readonly<Record<string, T>>> {
  return (value): value is Readonly<Record<string, T>> =>
    isObject(value) && Object.values(value).every(shape);
}

type Fields<T> = { readonly [K in keyof T]-?: Guard<Exclude<T[K], undefined>> };

/** These keys and no others; each must be there unless it is named as one that need not be. */
function objectOf<T extends object>(fields: Fields<T>, optional: readonly (keyof T)[] = []): Guard<T> {
  const shapes = new Map<string, Guard<unknown>>(Object.entries(fields));
  const needed = [...shapes.keys()].filter((key) => !optional.includes(key as keyof T));
  return (value): value is T =>
    isObject(value) &&
    needed.every((key) => Object.hasOwn(value, key)) &&
    Object.entries(value).every(([key, part]) => shapes.get(key)?.(part) === true);
}

const isSchema = isObject as Guard<JsonSchema>;
const isScope = oneOf('global', 'tenant', 'principal', 'skill');
export const isTexts = listOf(isText);

const isTool = objectOf<ManifestTool>({
  id: isText,
  name: isText,
  description: isText,
  risk: oneOf('low', 'medium', 'high'),
  module: isText,
  export: isText,
  inputSchema: isSchema,
  outputSchema: isSchema,
  annotations: objectOf<ToolAnnotations>({
    readOnly: isFlag,
    destructive: isFlag,
    idempotent: isFlag,
    openWorld: isFlag,
  }),
});

const isChannel = objectOf<AskedChannel>({ name: isText, publish: isFlag, receive: isFlag });
const isRoots = objectOf<Asks['storage']>({ read: isTexts, write: isTexts });

const isAsks = objectOf<Asks>({
  http: isTexts,
  secrets: listOf(objectOf<AskedSecret>({ name: isText, scope: isScope, mayReveal: isFlag, hosts: isTexts })),
  storage: isRoots,
  channels: listOf(isChannel),
  log: isFlag,
  clock: isFlag,
  random: isFlag,
  config: orNull(isTexts),
  allowWildcards: isFlag,
});

const isBuild = objectOf<ManifestBuild>({
  language: oneOf('assemblyscript', 'c', 'javascript'),
  modules: listOf(objectOf<ManifestBuild['modules'][number]>({ source: isText, module: isText })),
});

export const isManifest: Guard<Manifest> = objectOf<Manifest>({
  id: isText,
  name: isText,
  version: isText,
  publisher: isText,
  description: isText,
  license: orNull(isText),
  homepage: orNull(isText),
  tools: listOf(isTool),
  asks: isAsks,
  quotas: objectOf<Quotas>({ wallMs: orNull(isWhole), fuel: orNull(isWhole), memoryBytes: orNull(isWhole) }),
  trust: objectOf<Manifest['trust']>({ reviewers: isWhole, reauditDays: orNull(isWhole) }),
  compat: objectOf<Manifest['compat']>({ abi: oneOf(1), palisadeMin: orNull(isText) }),
  components: listOf(
    objectOf<ManifestComponent>({
      name: isText,
      version: isText,
      purl: orNull(isText),
      license: orNull(isText),
    }),
  ),
  build: orNull(isBuild),
});

export const isGrant: Guard<SkillGrant> = objectOf<SkillGrant>({
  wasm: objectOf<WasmGrants>({
    http: listOf(orNull(isText)),
    secrets: listOf(
      objectOf<SecretGrant>({ name: isText, mayReveal: isFlag, scope: isScope, hosts: isTexts }, ['scope']),
    ),
    storage: listOf(isRoots),
    channels: listOf(isChannel),
    log: isFlag,
    clock: isFlag,
    random: isFlag,
    config: orNull(recordOf(isText)),
  }),
  limits: objectOf<SkillGrant['limits']>({ wallMs: isWhole, fuel: isWhole, memoryBytes: isWhole }, [
    'wallMs',
    'fuel',
    'memoryBytes',
  ]),
});

export const isReport: Guard<AuditReport> = objectOf<AuditReport>({
  format: oneOf(1),
  skill: isText,
  version: isText,
  artifact: isText as Guard<Digest>,
  verdict: oneOf('passed', 'failed'),
  findings: listOf(
    objectOf<AuditFinding>({
      id: isText,
      severity: oneOf('refusal', 'warning', 'note'),
      where: isText,
      sentence: isText,
      remedy: isText,
    }),
  ),
  checks: isWhole,
  cases: orNull(objectOf<CaseCounts>({ passed: isWhole, failed: isWhole, notRun: isWhole })),
  palisade: isText,
});

/** The one text of a value, which can be read back. */
export function writeKept(value: unknown, what: string): string {
  const text = canonicalize(value);
  const bytes = Buffer.byteLength(text);
  if (bytes <= KEPT_LIMITS.maxBytes) return text;
  throw new CodedError(
    'skill/invalid-package',
    `Cannot keep ${what}: it has ${bytes} bytes, expected at most ${KEPT_LIMITS.maxBytes}`,
  );
}

/** The value of a kept text; null when it does not have that shape. */
export function readKept<T>(text: string, shape: Guard<T>): T | null {
  // Boundary: whoever has the file of the database can write anything here, also what no writer of ours would.
  const read = parseStrict(text, KEPT_LIMITS);
  return read.ok && shape(read.value) ? read.value : null;
}
