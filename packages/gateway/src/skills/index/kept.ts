import { canonicalize } from '@palisade/sdk';
import { CodedError } from '../../core/coded-error.ts';
import { ifPresent, object, readJson, whole } from '../../core/json-shape.ts';
import type { Problem, Result } from '../../core/result.ts';
import { type Shape, table } from '../../core/shape.ts';
import { GRANTS } from '../capabilities/kinds.ts';
import type { SkillGrant } from '../grant.ts';
import { KEPT_LIMITS } from '../limits.ts';

/* What is stored of a skill as text: canonical JSON, checked for its shape when it is read back. */

const limit = ifPresent(whole);
export const GRANT: Shape<SkillGrant> = object({
  wasm: GRANTS,
  limits: table({ wallMs: limit, fuel: limit, memoryBytes: limit }) as Shape<SkillGrant['limits']>,
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

/** Boundary: anyone with access to the database file can write anything here, including what our code never writes. */
export function readKept<T>(text: string, shape: Shape<T>): Result<T, Problem> {
  return readJson(text, KEPT_LIMITS, shape);
}
