/*
 * Turns what a skill requests into what the operator grants. Nothing is added: the full grant is what is requested, and
 * each option removes something. A capability that is withheld keeps its position in its list, because a guest knows
 * its capabilities by their positions, and is closed.
 */
import { CodedError } from '../core/coded-error.ts';
import { LIMIT_CEILINGS, type Limits } from '../core/limits.ts';
import type { WasmGrants } from '../core/wasm.ts';
import {
  coveringGrant,
  grantAll,
  type SpelledAsk,
  termsOf,
  withhold,
  withholdingsOf,
} from './capabilities/kinds.ts';
import type { Manifest } from './manifest/manifest.ts';

/** What the operator approved, in the positions of the request. */
export type SkillGrant = {
  readonly wasm: WasmGrants;
  readonly limits: Partial<Pick<Limits, 'wallMs' | 'fuel' | 'memoryBytes'>>;
};

/** What the operator withholds, and the values of its configuration. */
export type Narrowing = {
  readonly withhold: readonly string[];
  readonly limits: SkillGrant['limits'];
  readonly config: Readonly<Record<string, string>>;
};

/** The decision on one thing that was requested, and which of its terms are granted. `open`: it is not decided yet. */
export type AskState = {
  readonly stand: 'open' | 'granted' | 'narrowed' | 'withheld';
  readonly granted: readonly string[];
};

const ALL = 'all';
/** Longer values are files, and the guest is handed all of them with each call. */
const MOST_CONFIG_CHARS = 4096;
const TERMS = { wallMs: 'wall-clock milliseconds', fuel: 'fuel', memoryBytes: 'bytes of memory' } as const;
type Term = keyof typeof TERMS;

/** Everything that is requested, with no value for its configuration. */
export function wholeGrant({ asks, quotas }: Manifest): SkillGrant {
  return { wasm: grantAll(asks), limits: limitsOf((term) => quotas[term]) };
}

/** What is requested without what is withheld; refuses an option without effect, and a limit above the request. */
export function narrowGrant(manifest: Manifest, narrowing: Narrowing): SkillGrant {
  const wasm = narrowing.withhold.reduce(
    (left, word) => withholdWord(manifest, left, word),
    grantAll(manifest.asks),
  );
  for (const word of narrowing.withhold) requireGone(manifest, wasm, word);
  return {
    wasm: { ...wasm, config: configOf(manifest, narrowing.config) },
    limits: limitsOf((term) => lowered(manifest, term, narrowing.limits[term])),
  };
}

/** The values that an earlier grant has for keys that are asked for again, and the keys that are not any more. */
export function keptConfig(before: SkillGrant | null, { asks }: Pick<Manifest, 'asks'>) {
  const values = Object.entries(before?.wasm.config ?? {});
  const isAsked = ([key]: readonly [string, string]) => asks.config?.includes(key) === true;
  return {
    kept: Object.fromEntries(values.filter(isAsked)),
    dropped: values.filter((each) => !isAsked(each)).map(([key]) => key),
  };
}

/** The decision of a grant on one thing that is requested. */
export function askStateOf({ terms }: SpelledAsk, grant: SkillGrant | null): AskState {
  if (grant === null) return { stand: 'open', granted: [] };
  const all = termsOf(grant.wasm);
  const granted = terms.filter((term) => all.includes(term));
  if (granted.length === terms.length) return { stand: 'granted', granted };
  return { stand: granted.length === 0 ? 'withheld' : 'narrowed', granted };
}

/** Boundary: an option removes exactly what it spells; one without a match would leave open what should be closed. */
function withholdWord(manifest: Manifest, wasm: WasmGrants, word: string): WasmGrants {
  const words = withholdingsOf(manifest);
  if (word === ALL) return words.reduce(withhold, wasm);
  if (words.includes(word)) return withhold(wasm, word);
  const expected =
    words.length === 0
      ? 'nothing, for the skill asks for nothing that can be withheld'
      : `one of ${[...words, ALL].join(', ')}`;
  throw invalid(manifest, `withhold "${word}": the skill does not ask for that, expected ${expected}`);
}

/** Boundary: what another capability still covers was not withheld, whatever the operator believes. */
function requireGone(manifest: Manifest, wasm: WasmGrants, word: string): void {
  const cover = coveringGrant(word, wasm, manifest.asks);
  if (cover === null) return;
  throw invalid(
    manifest,
    `withhold "${word}": "${cover}" gives the same, expected that one to be withheld as well`,
  );
}

function configOf({ id, asks }: Manifest, given: Readonly<Record<string, string>>): WasmGrants['config'] {
  const keys = asks.config ?? [];
  for (const [key, value] of Object.entries(given)) {
    if (!keys.includes(key)) {
      const expected = keys.length === 0 ? 'none, for it has no configuration' : `one of ${keys.join(', ')}`;
      throw invalid({ id }, `set the configuration "${key}": it is not asked for, expected ${expected}`);
    }
    if (value.length > MOST_CONFIG_CHARS)
      throw invalid(
        { id },
        `set the configuration "${key}": it has ${value.length} characters, expected at most ${MOST_CONFIG_CHARS}`,
      );
  }
  return asks.config === null ? null : { ...given };
}

/** Limits only go down: more than is requested is an operator's mistake. */
function lowered(manifest: Manifest, term: Term, wanted: number | undefined): number | null {
  const asked = manifest.quotas[term];
  if (wanted === undefined) return asked;
  const most = asked ?? LIMIT_CEILINGS[term];
  if (Number.isSafeInteger(wanted) && wanted >= 1 && wanted <= most) return wanted;
  const whose = asked === null ? 'which no call gets more of' : 'which is what it asks for';
  throw invalid(manifest, `grant ${wanted} ${TERMS[term]}: expected 1 to ${most}, ${whose}`);
}

function limitsOf(take: (term: Term) => number | null): SkillGrant['limits'] {
  const limits: { -readonly [T in Term]?: number } = {};
  for (const term of Object.keys(TERMS) as Term[]) {
    const value = take(term);
    if (value !== null) limits[term] = value;
  }
  return limits;
}

function invalid({ id }: { readonly id: string }, what: string): CodedError {
  return new CodedError('skill/invalid-grant', `Cannot ${what}`, {
    remedy: `See what it asks for with \`palisade skill show ${id}\`.`,
  });
}
