/**
 * The network of a strict run as data. It is a separate network with nothing but `lo`, whose listening sockets belong
 * to the proxy of that run in the gateway: one for programs that support proxies, and doors for those that do not. A
 * door leads to one host and port of the allow-list; host names lead to doors through the hosts file of the sandbox.
 * Everything else is unreachable. The proxy decides on every connection what a door lets through.
 */
import { reachesHosts } from '../../core/capability.ts';
import type { ProcessTerms } from '../../core/process.ts';
import { formatAddress } from '../../egress/address.ts';
import { type Host, type HostName, parseHost } from '../../egress/authority.ts';
import type { EgressDoor } from '../../egress/proxy/proxy.ts';
import { parseRule, type Rule } from '../../egress/rule.ts';
import type { AddDescriptor } from '../child/child.ts';

/** A listening socket in the network of the run; the one without a door speaks the proxy protocol. */
export type Listener = { readonly address: string; readonly port: number; readonly door: EgressDoor | null };

export type NetworkPlan = {
  readonly listeners: readonly [Listener, ...Listener[]];
  readonly names: readonly { readonly address: string; readonly name: string }[];
};

/** The maximum that the launcher creates. */
const MOST_LISTENERS = 64;
const PROXY_ADDRESS = '127.0.0.1';
const FIRST_PROXY_PORT = 3128;
/** The addresses for names. */
const NAME_ADDRESSES = Array.from({ length: 254 }, (_, index) => `127.0.1.${index + 1}`);
const HTTP_PORT = 80;
const LOOPBACK = /^127\.|^::1$/;

type NetworkTerms = Pick<ProcessTerms, 'egress' | 'egressHosts'>;

/** Whether a run has its own network with anything reachable: it is strict, and something is allowed. */
export function hasNetwork({ egress, egressHosts }: NetworkTerms): boolean {
  return egress === 'strict' && reachesHosts(egressHosts);
}

/** That network; null where it has none. */
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
    // A name whose doors do not all fit is only reachable through the proxy.
    if (listeners.length + doors.length > MOST_LISTENERS) continue;
    listeners.push(...doors.map((door) => ({ address, port: door.port, door })));
    if (name !== null) names.push({ address, name });
  }
  return { listeners, names };
}

/** Doors at one address: that of a name, or an address of the host's own that the list contains. */
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
  // An address in the list has its own doors.
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

/** A port with only plain HTTP allowed gets a door that parses it; any other forwards what it cannot parse. */
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

/** The launcher's arguments that create it; the listeners come back through the descriptor. */
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

/** What one run with a network gets, and no other. */
export type NetworkPass = {
  /** The credential of its programs for its proxy. */
  readonly token: string;
  readonly placeholders: Readonly<Record<string, string>>;
  /** The certificates that it trusts, where its proxy intercepts TLS; null where it trusts those of the system. */
  readonly trusted: string | null;
};

/** For a plan that is displayed and not run. */
export const SAMPLE_PASS: NetworkPass = { token: 'TOKEN', placeholders: {}, trusted: null };

/** The path of the certificates that a run trusts; only tier C has such a file. */
export const TRUST_FILE = '/.palisade/ca.pem';

/** Every spelling that programs look for. */
const PROXY_VARIABLES = ['HTTP_PROXY', 'HTTPS_PROXY', 'ALL_PROXY', 'http_proxy', 'https_proxy', 'all_proxy'];
/** What is sent to localhost stays there, and its doors need no proxy. */
const NO_PROXY = 'localhost,127.0.0.1,::1';
const TRUST_VARIABLES = [
  ...['SSL_CERT_FILE', 'CURL_CA_BUNDLE', 'GIT_SSL_CAINFO', 'REQUESTS_CA_BUNDLE', 'PIP_CERT'],
  ...['NODE_EXTRA_CA_CERTS', 'npm_config_cafile', 'CARGO_HTTP_CAINFO', 'AWS_CA_BUNDLE', 'DENO_CERT'],
];

/** Package managers try again for a minute before they say that there is no network; pip names the cause when it does. */
const WITHOUT_NETWORK = { npm_config_fetch_retries: '0', PIP_RETRIES: '1' };

/** The variables by which programs find the proxy, the certificates and the placeholders, or that there is no network. */
export function networkVariables(
  { egress }: Pick<ProcessTerms, 'egress'>,
  network: NetworkPlan | null,
  { token, placeholders, trusted }: NetworkPass,
): Readonly<Record<string, string>> {
  if (network === null) return egress === 'strict' ? WITHOUT_NETWORK : {};
  const [{ address, port }] = network.listeners;
  const proxy = `http://run:${token}@${address}:${port}`;
  return {
    ...placeholders,
    ...sameFor(PROXY_VARIABLES, proxy),
    ...sameFor(['NO_PROXY', 'no_proxy'], NO_PROXY),
    // Only then does Node's own fetch read the others.
    NODE_USE_ENV_PROXY: '1',
    ...sameFor(trusted === null ? [] : TRUST_VARIABLES, TRUST_FILE),
  };
}

function sameFor(names: readonly string[], value: string): Record<string, string> {
  return Object.fromEntries(names.map((name) => [name, value]));
}
