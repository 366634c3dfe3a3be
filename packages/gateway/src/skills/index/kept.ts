import { canonicalize } from '@palisade/sdk';
import { CodedError } from '../../core/coded-error.ts';
import type { Digest } from '../../core/digest.ts';
import { parseStrict } from '../../core/strict-json.ts';
import type { JsonSchema, ToolAnnotations } from '../../core/tool.ts';
import type { AuditFinding, AuditReport, CaseCounts } from '../audit/check.ts';
import { isAsks, isGrants } from '../capabilities/kinds.ts';
import type { SkillGrant } from '../grant.ts';
import { KEPT_LIMITS } from '../limits.ts';
import type {
  Manifest,
  ManifestBuild,
  ManifestComponent,
  ManifestTool,
  Quotas,
} from '../manifest/manifest.ts';
import { isFlag, isObject, isText, isWhole, listOf, objectOf, oneOf, orNull, type Shape } from './shape.ts';

/* What is stored of a skill as text: canonical JSON, checked for its shape when it is read back. */

/* Guards check whether a value has its type. They are for data we wrote ourselves, so they explain nothing. */

const isSchema = isObject as Shape<JsonSchema>;
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

const isBuild = objectOf<ManifestBuild>({
  language: oneOf('assemblyscript', 'c', 'javascript'),
  modules: listOf(objectOf<ManifestBuild['modules'][number]>({ source: isText, module: isText })),
});

export const isManifest: Shape<Manifest> = objectOf<Manifest>({
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

export const isGrant: Shape<SkillGrant> = objectOf<SkillGrant>({
  wasm: isGrants,
  limits: objectOf<SkillGrant['limits']>({ wallMs: isWhole, fuel: isWhole, memoryBytes: isWhole }, [
    'wallMs',
    'fuel',
    'memoryBytes',
  ]),
});

export const isReport: Shape<AuditReport> = objectOf<AuditReport>({
  format: oneOf(1),
  skill: isText,
  version: isText,
  artifact: isText as Shape<Digest>,
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
export function readKept<T>(text: string, shape: Shape<T>): T | null {
  // Boundary: anyone with access to the database file can write anything here, including what our code never writes.
  const read = parseStrict(text, KEPT_LIMITS);
  return read.ok && shape(read.value) ? read.value : null;
}
