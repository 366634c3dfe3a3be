import { CodedError } from '../core/coded-error.ts';
import { LIMIT_CEILINGS } from '../core/limits.ts';
import type { WasmGrants } from '../core/wasm.ts';
import { withholdingsOf } from './asks.ts';
import { coveringEntry, coveringPrefix } from './covering.ts';
import type { SkillGrant } from './grant.ts';
import type { Manifest } from './manifest/manifest.ts';

/*
 * From what a skill asks for to what the operator grants. Nothing here adds: the whole grant is what is asked, and each
 * word takes something away. A capability that is withheld keeps its place in its list, because a guest knows its
 * capabilities by their places, and is closed.
 */

export { spellAsks } from './asks.ts';

/** What the operator wants less of, and the values of its configuration. */
export type Narrowing = {
  readonly withhold: readonly string[];
  readonly limits: SkillGrant['limits'];
  readonly config: Readonly<Record<string, string>>;
};

const ALL = 'all';
/** Longer values are files, and the guest is handed all of them with each call. */
const MOST_CONFIG_CHARS = 4096;
const TERMS = { wallMs: 'wall-clock milliseconds', fuel: 'fuel', memoryBytes: 'bytes of memory' } as const;
type Term = keyof typeof TERMS;

/** All that is asked for, with no value for its configuration. */
export function wholeGrant({ asks, quotas }: Manifest): SkillGrant {
  const { http, secrets, storage, channels, log, clock, random, config } = asks;
  const hasStorage = storage.read.length + storage.write.length > 0;
  return {
    wasm: {
      http: [...http],
      secrets: secrets.map(({ name, mayReveal, scope, hosts }) => ({ name, mayReveal, scope, hosts })),
      storage: hasStorage ? [{ read: storage.read, write: storage.write }] : [],
      channels: channels.map(({ name, publish, receive }) => ({ name, publish, receive })),
      ...{ log, clock, random },
      config: config === null ? null : {},
    },
    limits: limitsOf((term) => quotas[term]),
  };
}

/** What is asked for without what is withheld; refuses a word that takes nothing away, and a limit above what is asked. */
export function narrowGrant(manifest: Manifest, { withhold, limits, config }: Narrowing): SkillGrant {
  const whole = wholeGrant(manifest);
  const wasm = withhold.reduce((left, word) => without(manifest, left, word), whole.wasm);
  for (const word of withhold) requireGone(manifest, wasm, word);
  return {
    wasm: { ...wasm, config: configOf(manifest, config) },
    limits: limitsOf((term) => lowered(manifest, term, limits[term])),
  };
}

/** Boundary: a word takes away exactly what it spells; one that fits nothing would leave open what was meant to be closed. */
function without(manifest: Manifest, wasm: WasmGrants, word: string): WasmGrants {
  const { http, secrets, storage, channels } = wasm;
  if (word === ALL) return closed(wasm);
  if (!withholdingsOf(manifest).includes(word)) throw unknownWord(manifest, word);
  const [, kind = '', name = ''] = /^([a-z:]+)(?:=(.*))?$/s.exec(word) ?? [];
  if (kind === 'http') return { ...wasm, http: http.map((entry) => (entry === name ? null : entry)) };
  if (kind === 'secret' || kind === 'reveal') {
    const hosts = (old: readonly string[]) => (kind === 'secret' ? [] : old);
    const narrowed = secrets.map((secret) =>
      secret.name === name ? { ...secret, mayReveal: false, hosts: hosts(secret.hosts) } : secret,
    );
    return { ...wasm, secrets: narrowed };
  }
  if (kind === 'channel') return { ...wasm, channels: channels.map((channel) => quieter(channel, name)) };
  if (word === 'storage') return { ...wasm, storage: storage.map(() => ({ read: [], write: [] })) };
  if (word === 'storage:write') return { ...wasm, storage: storage.map(({ read }) => ({ read, write: [] })) };
  const left = (prefixes: readonly string[]) => prefixes.filter((prefix) => prefix !== name);
  const narrowed = storage.map(({ read, write }) => ({ read: left(read), write: left(write) }));
  return { ...wasm, storage: narrowed };
}

function closed(wasm: WasmGrants): WasmGrants {
  return {
    ...wasm,
    http: wasm.http.map(() => null),
    secrets: wasm.secrets.map((secret) => ({ ...secret, mayReveal: false, hosts: [] })),
    storage: wasm.storage.map(() => ({ read: [], write: [] })),
    channels: wasm.channels.map(({ name }) => ({ name, publish: false, receive: false })),
  };
}

type Channel = WasmGrants['channels'][number];

function quieter(channel: Channel, word: string): Channel {
  const [name, act] = word.split(':');
  if (channel.name !== name) return channel;
  const isLeft = (each: 'publish' | 'receive') => channel[each] && act !== undefined && act !== each;
  return { name: channel.name, publish: isLeft('publish'), receive: isLeft('receive') };
}

/** Boundary: what another capability still covers was not withheld, whatever the operator believes. */
function requireGone(manifest: Manifest, { http, storage }: WasmGrants, word: string): void {
  const [, kind, name = ''] = /^(http|storage)=(.*)$/s.exec(word) ?? [];
  if (kind === undefined) return;
  const { asks } = manifest;
  const stillAt = (act: 'read' | 'write') =>
    asks.storage[act].includes(name)
      ? coveringPrefix(
          name,
          storage.flatMap((each) => each[act]),
        )
      : null;
  const cover = kind === 'http' ? coveringEntry(name, http) : (stillAt('read') ?? stillAt('write'));
  if (cover === null) return;
  throw invalid(
    manifest,
    `withhold "${word}": "${kind}=${cover}" gives the same, expected that one to be withheld as well`,
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

/** Limits only go down: more than is asked for is a mistake of whoever grants it. */
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

function unknownWord(manifest: Manifest, word: string): CodedError {
  const words = withholdingsOf(manifest);
  const expected =
    words.length === 0
      ? 'nothing, for the skill asks for nothing that can be withheld'
      : `one of ${[...words, ALL].join(', ')}`;
  return invalid(manifest, `withhold "${word}": the skill does not ask for that, expected ${expected}`);
}

function invalid({ id }: { readonly id: string }, what: string): CodedError {
  return new CodedError('skill/invalid-grant', `Cannot ${what}`, {
    remedy: `See what it asks for with \`palisade skill show ${id}\`.`,
  });
}
