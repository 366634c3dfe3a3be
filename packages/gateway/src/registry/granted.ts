/** What the grants of a module tell the policies and people. Pure. */
import type { Risk } from '../core/tool.ts';
import type { WasmGrants } from '../core/wasm.ts';
import { formatAddress } from '../egress/address.ts';
import { widthOf } from '../egress/address-range.ts';
import { type HostPattern, parseRule } from '../egress/rule.ts';

/** What a module can be granted. */
export type GrantKind = 'http' | 'secret' | 'storage' | 'channel' | 'log' | 'clock' | 'random' | 'config';

/** Kinds that reach what is there beside the call and after it. */
const REACHING: ReadonlySet<string> = new Set<GrantKind>(['http', 'secret', 'storage', 'channel']);
const REVEAL = 'secret:reveal';

/** The kinds of what was granted, in one order; and, where a secret may be read, a word for that. */
export function capabilitiesOf(grants: WasmGrants): readonly string[] {
  const isGranted: Readonly<Record<GrantKind, boolean>> = {
    http: grants.http.length > 0,
    secret: grants.secrets.length > 0,
    storage: grants.storage.length > 0,
    channel: grants.channels.length > 0,
    log: grants.log,
    clock: grants.clock,
    random: grants.random,
    config: grants.config !== null,
  };
  const kinds = Object.entries(isGranted).flatMap(([kind, is]) => (is ? [kind] : []));
  return grants.secrets.some(({ mayReveal }) => mayReveal) ? [...kinds, REVEAL] : kinds;
}

/** Low where all that it can do is compute; what reaches further is for people to run. */
export function riskOf(grants: WasmGrants): Risk {
  return capabilitiesOf(grants).some((kind) => REACHING.has(kind)) ? 'medium' : 'low';
}

/** The hosts of the http grants as policies see them: a name, `*.name`, an address or a range. */
export function hostsOf({ http }: WasmGrants): readonly string[] {
  const hosts = http.flatMap((entry) => {
    const rule = entry === null ? null : parseRule(entry);
    return rule?.ok ? [writePlace(rule.value.place)] : [];
  });
  return [...new Set(hosts)];
}

function writePlace(place: HostPattern): string {
  if (place.kind === 'name') return place.name;
  if (place.kind === 'below') return `*.${place.name}`;
  const { family, first, bits } = place.range;
  const address = formatAddress({ family, value: first });
  return bits === widthOf(family) ? address : `${address}/${bits}`;
}

/** The grants as `--grant` takes them, for people to read and for an approval to be bound to. */
export function spellGrants(grants: WasmGrants): readonly string[] {
  return [
    ...grants.http.map((entry) => `http=${entry}`),
    ...grants.secrets.map(
      ({ name, mayReveal, hosts }) =>
        `secret=${name}${mayReveal ? ':reveal' : ''}${hosts.length === 0 ? '' : `@${hosts.join()}`}`,
    ),
    ...grants.storage.map(({ read, write }) => `storage=${read.join()}${write.length === 0 ? ':ro' : ''}`),
    ...grants.channels.map(
      ({ name, publish, receive }) =>
        `channel=${name}${publish && receive ? '' : publish ? ':publish' : ':receive'}`,
    ),
    ...(['log', 'clock', 'random'] as const).filter((kind) => grants[kind]),
    ...Object.entries(grants.config ?? {}).map(([key, value]) => `config:${key}=${value}`),
  ];
}
