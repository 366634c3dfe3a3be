/**
 * The network of a strict run as data. It is a network of its own with nothing but `lo`, on which listening sockets wait
 * whose other side is the proxy of that run in the gateway: one for programs that know what a proxy is, and doors for
 * those that do not. A door stands for one host and port of the allow-list; the names of hosts lead to doors by the hosts
 * file of the sandbox. Whatever leads to no listener leads nowhere. What a door lets through is decided by the proxy,
 * with every connection.
 */
import type { ProcessTerms } from '../../core/process.ts';
import { formatAddress } from '../../egress/address.ts';
import { type Host, type HostName, parseHost } from '../../egress/authority.ts';
import type { EgressDoor } from '../../egress/proxy/proxy.ts';
import { parseRule, type Rule } from '../../egress/rule.ts';
import type { AddDescriptor } from '../child/child.ts';

/** A listening socket in the network of the run; the one without a door speaks the language of proxies. */
export type Listener = { readonly address: string; readonly port: number; readonly door: EgressDoor | null };

export type NetworkPlan = {
  readonly listeners: readonly [Listener, ...Listener[]];
  /** Names that lead to doors. */
  readonly names: readonly { readonly address: string; readonly name: string }[];
};

/** As many as the launcher makes. */
const MOST_LISTENERS = 64;
const PROXY_ADDRESS = '127.0.0.1';
const FIRST_PROXY_PORT = 3128;
/** What names can lead to. */
const NAME_ADDRESSES = Array.from({ length: 254 }, (_, index) => `127.0.1.${index + 1}`);
const HTTP_PORT = 80;
const LOOPBACK = /^127\.|^::1$/;

type NetworkTerms = Pick<ProcessTerms, 'egress' | 'egressHosts'>;

/** Whether a run has a network of its own that leads somewhere: it is strict, and something is allowed. */
export function hasNetwork({ egress, egressHosts }: NetworkTerms): boolean {
  return egress === 'strict' && egressHosts.some((entry) => !entry.startsWith('!'));
}

/** That network; null where there is none. */
export function planNetwork(terms: NetworkTerms, takesNames: boolean): NetworkPlan | null {
  if (!hasNetwork(terms)) return null;
  const { egressHosts } = terms;
  const rules = egressHosts.flatMap((entry) => {
    const rule = parseRule(entry);
    return rule.ok && !rule.value.denies ? [rule.value] : [];
  });
  const places = placesOf(rules, takesNames);
  const taken = places.filter(({ address }) => address === PROXY_ADDRESS).flatMap(({ doors }) => doors);
  const port = freePort(new Set(taken.map((door) => door.port)));
  const listeners: [Listener, ...Listener[]] = [{ address: PROXY_ADDRESS, port, door: null }];
  const names: { address: string; name: string }[] = [];
  for (const { address, name, doors } of places) {
    // A name whose doors do not all fit is reached through the proxy alone.
    if (listeners.length + doors.length > MOST_LISTENERS) continue;
    listeners.push(...doors.map((door) => ({ address, port: door.port, door })));
    if (name !== null) names.push({ address, name });
  }
  return { listeners, names };
}

/** Doors at one address; it has a name, or is an address of the host's own that the list names. */
type DoorPlace = {
  readonly address: string;
  readonly name: HostName | null;
  readonly doors: readonly EgressDoor[];
};

function placesOf(rules: readonly Rule[], takesNames: boolean): readonly DoorPlace[] {
  const named = new Map<HostName, Rule[]>();
  const loopback = new Map<string, Rule[]>();
  for (const rule of rules) {
    if (rule.place.kind === 'name') put(named, rule.place.name, rule);
    else if (rule.place.kind === 'range') {
      const address = soleAddress(rule);
      if (address !== null && LOOPBACK.test(address)) put(loopback, address, rule);
    }
  }
  // An address that the list names has doors of its own.
  const free = NAME_ADDRESSES.filter((address) => !loopback.has(address));
  const names = takesNames ? [...named] : [];
  const ofNames = free.flatMap((address, index) => {
    const [name, own = []] = names[index] ?? [];
    return name === undefined ? [] : [{ address, name, doors: doorsOf({ kind: 'name', name }, own) }];
  });
  const ofAddresses = [...loopback].flatMap(([address, own]) => {
    const host = parseHost(address);
    return host.ok ? [{ address, name: null, doors: doorsOf(host.value, own) }] : [];
  });
  return [...ofAddresses, ...ofNames];
}

/** A port on which all that is allowed is plain HTTP has a door that reads it; any other passes on what it cannot read. */
function doorsOf(host: Host, rules: readonly Rule[]): readonly EgressDoor[] {
  const ports = [...new Set(rules.flatMap((rule) => rule.ports ?? []))];
  return ports.map((port) => {
    const schemes = rules.filter((rule) => rule.ports?.includes(port)).map((rule) => rule.scheme);
    const isHttp = schemes.every((scheme) => scheme === 'http' || (scheme === null && port === HTTP_PORT));
    return { host, port, isHttp };
  });
}

function soleAddress({ place }: Rule): string | null {
  if (place.kind !== 'range') return null;
  const { family, bits, first } = place.range;
  return bits === (family === 4 ? 32 : 128) ? formatAddress({ family, value: first }) : null;
}

function freePort(taken: ReadonlySet<number>): number {
  let port = FIRST_PROXY_PORT;
  while (taken.has(port)) port += 1;
  return port;
}

function put<Key>(map: Map<Key, Rule[]>, key: Key, rule: Rule): void {
  const rules = map.get(key) ?? [];
  rules.push(rule);
  map.set(key, rules);
}

/** The words of the launcher that makes it; the listeners come back through the descriptor. */
export function networkWords({ listeners }: NetworkPlan, add: AddDescriptor): readonly string[] {
  const at = listeners.map(
    ({ address, port }) => `${address.includes(':') ? `[${address}]` : address}:${port}`,
  );
  return [
    'net=1',
    ...at.map((each) => `listen=${each}`),
    `handles=${add({ role: 'handles', count: listeners.length })}`,
  ];
}

/** What one run with a network is given, and no other. */
export type NetworkPass = {
  /** What its programs show to its proxy. */
  readonly token: string;
  /** Variables with the placeholders of its secrets. */
  readonly placeholders: Readonly<Record<string, string>>;
  /** The certificates that it trusts, where its proxy opens TLS; null where it trusts those of the system. */
  readonly trusted: string | null;
};

/** For a plan that is looked at and not run. */
export const SAMPLE_PASS: NetworkPass = { token: 'TOKEN', placeholders: {}, trusted: null };

/** Where the certificates lie that a run trusts; tier C alone has such a place. */
export const TRUST_FILE = '/.palisade/ca.pem';

/** Every spelling that programs look for. */
const PROXY_VARIABLES = ['HTTP_PROXY', 'HTTPS_PROXY', 'ALL_PROXY', 'http_proxy', 'https_proxy', 'all_proxy'];
/** What is sent to the own host stays there, and its doors need no proxy. */
const NO_PROXY = 'localhost,127.0.0.1,::1';
const TRUST_VARIABLES = [
  ...['SSL_CERT_FILE', 'CURL_CA_BUNDLE', 'GIT_SSL_CAINFO', 'REQUESTS_CA_BUNDLE', 'PIP_CERT'],
  ...['NODE_EXTRA_CA_CERTS', 'npm_config_cafile', 'CARGO_HTTP_CAINFO', 'AWS_CA_BUNDLE', 'DENO_CERT'],
];

/** The variables by which programs find the proxy, the certificates and the placeholders. */
export function networkVariables(
  { listeners }: NetworkPlan,
  { token, placeholders, trusted }: NetworkPass,
): Readonly<Record<string, string>> {
  const [{ address, port }] = listeners;
  const proxy = `http://run:${token}@${address}:${port}`;
  return {
    ...placeholders,
    ...sameFor(PROXY_VARIABLES, proxy),
    ...sameFor(['NO_PROXY', 'no_proxy'], NO_PROXY),
    // Node's own fetch asks for the others only then.
    NODE_USE_ENV_PROXY: '1',
    ...sameFor(trusted === null ? [] : TRUST_VARIABLES, TRUST_FILE),
  };
}

function sameFor(names: readonly string[], value: string): Record<string, string> {
  return Object.fromEntries(names.map((name) => [name, value]));
}
