/** What an exported run has to look like before anything of it is used: it comes from a file that anybody may have written. */

import { LIMIT_CEILINGS } from '../../core/limits.ts';
import type { EngineFacts, Exchange, Recording } from '../../core/recording.ts';

type Check = (value: unknown) => boolean;

const DIGEST = /^[0-9a-f]{64}$/;
const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/;
const LONE_SURROGATE = /\p{Surrogate}/u;
/** More than any version wrote. */
const MOST_LOG_BYTES = 1024 * 1024;

/** Half a surrogate pair has no canonical form. */
const isText: Check = (value) => typeof value === 'string' && !LONE_SURROGATE.test(value);
const isBase64: Check = (value) => typeof value === 'string' && BASE64.test(value);
const isCount: Check = (value) => Number.isSafeInteger(value) && (value as number) >= 0;
const isUpTo =
  (most: number): Check =>
  (value) =>
    isCount(value) && (value as number) <= most;
const isListOf =
  (check: Check): Check =>
  (value) =>
    Array.isArray(value) && value.every(check);
const isRecordOf =
  (check: Check): Check =>
  (value) =>
    isRecord(value) && Object.entries(value).every(([name, each]) => isText(name) && check(each));
const isShaped =
  (shape: Readonly<Record<string, Check>>): Check =>
  (value) =>
    isRecord(value) && Object.entries(shape).every(([name, check]) => check(value[name]));

const EXCHANGE: Readonly<Record<keyof Exchange, Check>> = {
  name: isText,
  asked: isText,
  result: Number.isSafeInteger,
  bytes: isBase64,
};

const ENGINE: Readonly<Record<keyof EngineFacts, Check>> = {
  meter: isCount,
  form: isText,
  isDeterministic: (value) => typeof value === 'boolean',
};

const RECORDING: Readonly<Record<keyof Recording, Check>> = {
  version: (value) => value === 1 || value === 2,
  engine: (value) => value === undefined || isShaped(ENGINE)(value),
  module: isText,
  exportName: isText,
  input: isText,
  functions: isListOf(isText),
  counts: isRecordOf(isCount),
  // Boundary: no run of a file takes more than a call could.
  limits: isShaped({
    fuel: isUpTo(LIMIT_CEILINGS.fuel),
    memoryBytes: isUpTo(LIMIT_CEILINGS.memoryBytes),
    outputBytes: isUpTo(LIMIT_CEILINGS.outputBytes),
    logBytes: isUpTo(MOST_LOG_BYTES),
  }),
  startedMs: isCount,
  seed: (value) => typeof value === 'string' && DIGEST.test(value),
  config: isRecordOf(isText),
  exchanges: isListOf(isShaped(EXCHANGE)),
};

const BUNDLE: Readonly<Record<string, Check>> = {
  call: isText,
  envelope: isShaped({ payload: isBase64 }),
  recording: isShaped(RECORDING),
  module: isBase64,
};

/** The name of the first part that is missing or wrong, null where all are sound. */
export function findUnsound(bundle: unknown): string | null {
  if (!isRecord(bundle)) return 'document';
  for (const [name, check] of Object.entries(BUNDLE)) {
    if (check(bundle[name])) continue;
    const recording = bundle[name];
    if (name !== 'recording' || !isRecord(recording)) return name;
    const part = Object.entries(RECORDING).find(([key, isSound]) => !isSound(recording[key]));
    return `${name}.${part?.[0] ?? ''}`;
  }
  return null;
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
