import type { AskedSecret, Asks, ChannelGrant } from '../core/wasm.ts';
import type { Manifest } from './manifest/manifest.ts';

/** One thing that a skill asks for, as it is spelled to withhold it, and in words for whoever decides. */
export type SpelledAsk = {
  readonly spelling: string;
  readonly sentence: string;
  /** Whether it reaches what is there beside the call and after it; only that can be withheld. */
  readonly isReaching: boolean;
  /** What a grant has to have for all of it, as `termsOf` spells it. */
  readonly terms: readonly string[];
};

type Row = readonly [spelling: string, sentence: string, terms: readonly string[]];

/** All that is asked for, in the order in which it matters; names in it were written by the author of the skill. */
export function spellAsks({ asks }: Manifest): readonly SpelledAsk[] {
  return [...reachingAsks(asks), ...plainAsks(asks)];
}

/** Every word that takes something away from this skill, without `all`. */
export function withholdingsOf({ asks }: Manifest): readonly string[] {
  const { secrets, storage, channels } = asks;
  const hasStorage = storage.read.length + storage.write.length > 0;
  return [
    ...new Set([
      ...reachingAsks(asks).map(({ spelling }) => spelling),
      ...secrets.map(({ name }) => `secret=${name}`),
      ...(hasStorage ? ['storage'] : []),
      ...(storage.write.length > 0 ? ['storage:write'] : []),
      ...channels.map(({ name }) => `channel=${name}`),
    ]),
  ];
}

function reachingAsks({ http, secrets, storage, channels }: Asks): readonly SpelledAsk[] {
  const rows: readonly Row[] = [
    ...http.map((entry): Row => [`http=${entry}`, `sends requests to ${entry}`, [`http=${entry}`]]),
    ...secrets.flatMap(secretRows),
    ...storageRows(storage),
    ...channels.flatMap(channelRows),
  ];
  return rows.map(([spelling, sentence, terms]) => ({ spelling, sentence, terms, isReaching: true }));
}

function secretRows({ name, scope, mayReveal, hosts }: AskedSecret): readonly Row[] {
  const which = `the secret "${name}" of the scope ${scope}`;
  const sends = hosts.map((host) => `secret=${name}@${host} (${scope})`);
  const unseen = mayReveal ? '' : ', without seeing it';
  const send: Row = [`secret=${name}`, `sends ${which} to ${hosts.join(', ')}${unseen}`, sends];
  const reveal: Row = [`reveal=${name}`, `reads ${which}`, [`reveal=${name} (${scope})`]];
  return [...(hosts.length > 0 ? [send] : []), ...(mayReveal ? [reveal] : [])];
}

function storageRows({ read, write }: Asks['storage']): readonly Row[] {
  return [...new Set([...read, ...write])].map((prefix): Row => {
    const [isRead, isWritten] = [read.includes(prefix), write.includes(prefix)];
    const acts = isRead && isWritten ? 'reads and writes' : isRead ? 'reads' : 'writes';
    const terms = [
      ...(isRead ? [`storage:read=${prefix}`] : []),
      ...(isWritten ? [`storage:write=${prefix}`] : []),
    ];
    return [`storage=${prefix}`, `${acts} ${placeOf(prefix)}`, terms];
  });
}

function placeOf(prefix: string): string {
  return prefix === '' || prefix === '/' ? 'everything in its storage' : `what is stored at ${prefix}`;
}

function channelRows({ name, publish, receive }: ChannelGrant): readonly Row[] {
  const [publishing, receiving] = [`channel=${name}:publish`, `channel=${name}:receive`];
  const rows: readonly Row[] = [
    [publishing, `publishes to the channel "${name}"`, publish ? [publishing] : []],
    [receiving, `receives from the channel "${name}"`, receive ? [receiving] : []],
  ];
  return rows.filter(([, , terms]) => terms.length > 0);
}

function plainAsks({ log, clock, random, config }: Asks): readonly SpelledAsk[] {
  const rows: readonly Row[] = [
    ...(log ? [plain('log', 'writes lines to the log')] : []),
    ...(clock ? [plain('clock', 'knows the time when the call began')] : []),
    ...(random ? [plain('random', 'gets random bytes')] : []),
    // The key is always its own; whether it has a value is for the operator.
    ...(config ?? []).map(
      (key): Row => [`config:${key}`, `reads the value of "${key}" that you give it`, []],
    ),
  ];
  return rows.map(([spelling, sentence, terms]) => ({ spelling, sentence, terms, isReaching: false }));
}

function plain(kind: string, sentence: string): Row {
  return [kind, sentence, [kind]];
}
