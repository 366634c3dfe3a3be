import { type Result, sentenceOf } from '../packages/gateway/src/core/result.ts';
import { type AllowList, parseAllowList } from '../packages/gateway/src/egress/allowlist.ts';
import { parseAuthority, parseHttpUrl } from '../packages/gateway/src/egress/authority.ts';
import { decide, type EgressRequest } from '../packages/gateway/src/egress/decide.ts';

/*
 * The lists that operators write, and what is asked of them, at every size. A request is text as a proxy gets it:
 * `host:port` for a tunnel, `GET http://…` for a plain one.
 */

export type Shape = {
  readonly name: string;
  /** What its requests are, where they are also measured from their text on. */
  readonly text?: string;
  readonly verdict: 'allow' | 'deny';
  readonly entry: (index: number, size: number) => string;
  readonly request: (index: number, size: number) => string;
};

/** A list with requests that it answers in one way. */
export type Case = {
  readonly name: string;
  readonly size: number;
  readonly list: AllowList;
  readonly raws: readonly string[];
  readonly requests: readonly EgressRequest[];
};

export const SIZES = [1, 10, 100, 1_000, 10_000] as const;
/** Requests that take turns, so that no answer is that of the request before. */
const REQUESTS = 64;
const DEEP = `${'a.'.repeat(110)}`;
const LONG_PATH = `/v1/${'segment-of-a-path/'.repeat(110)}`;
const ENCODED_PATH = `/v1/${'na%C3%AFve%20caf%C3%A9/'.repeat(20)}`;

export const SHAPES: readonly [Shape, ...Shape[]] = [
  {
    ...{ name: 'names, listed', verdict: 'allow', text: 'a name' },
    entry: (i) => `service-${i}.example.com`,
    request: (i) => `service-${i}.example.com:443`,
  },
  {
    ...{ name: 'names, not listed', verdict: 'deny' },
    entry: (i) => `service-${i}.example.com`,
    request: (i) => `other-${i}.example.com:443`,
  },
  {
    ...{ name: 'wildcards', verdict: 'allow' },
    entry: (i) => `*.zone-${i}.example.com`,
    request: (i) => `a.b.zone-${i}.example.com:443`,
  },
  {
    ...{ name: 'wildcards, names of 113 labels', verdict: 'allow' },
    entry: (i) => `*.zone-${i}.example.com`,
    request: (i) => `${DEEP}zone-${i}.example.com:443`,
  },
  {
    ...{ name: 'wildcards, 113 labels, not listed', verdict: 'deny' },
    entry: (i) => `*.zone-${i}.example.com`,
    request: (i) => `${DEEP}other-${i}.example.com:443`,
  },
  {
    ...{ name: '32 wildcards inside each other', verdict: 'allow' },
    entry: (i) =>
      `*.${DEEP.slice(0, 2 * (i % 32))}zone-${Math.floor(i / 32)}.example.com:${i === 0 ? 443 : 80}`,
    request: () => `${DEEP}zone-0.example.com:443`,
  },
  {
    ...{ name: 'IPv4 ranges', verdict: 'allow', text: 'an IPv4 address' },
    entry: (i) => rangeOf(ipv4(i), 9 + (i % 24), 32),
    request: (i) => `${dotted(ipv4(i))}:443`,
  },
  {
    ...{ name: 'IPv4 ranges, not listed', verdict: 'deny' },
    entry: (i) => rangeOf(ipv4(i), 9 + (i % 24), 32),
    request: (i) => `${dotted(ipv4(i) + 0x7000_0000n)}:443`,
  },
  {
    ...{ name: 'IPv6 ranges', verdict: 'allow', text: 'an IPv6 address' },
    entry: (i) => rangeOf(ipv6(i), 17 + (i % 112), 128),
    request: (i) => `[${groups(ipv6(i))}]:443`,
  },
  {
    ...{ name: 'IPv6 ranges, not listed', verdict: 'deny' },
    entry: (i) => rangeOf(ipv6(i), 17 + (i % 112), 128),
    request: (i) => `[${groups(ipv6(i) + (1n << 120n))}]:443`,
  },
  {
    ...{ name: '32 IPv6 ranges inside each other', verdict: 'allow' },
    entry: (i) => `${rangeOf(ipv6(Math.floor(i / 32)), 17 + 3 * (i % 32), 128)}:${i === 0 ? 443 : 80}`,
    request: () => `[${groups(ipv6(0))}]:443`,
  },
  {
    ...{ name: 'denied IPv4 ranges, asked in NAT64', verdict: 'deny' },
    entry: (i) => (i === 0 ? '[64:ff9b::]/96:80' : `!${rangeOf(ipv4(i), 9 + (i % 24), 32)}`),
    request: (i) => `[64:ff9b::${dotted(ipv4(i) + 0x7000_0000n)}]:443`,
  },
  {
    ...{ name: 'metadata service in a wide range', verdict: 'deny' },
    entry: (i) => (i === 0 ? '169.0.0.0/8' : rangeOf(ipv4(i), 9 + (i % 24), 32)),
    request: () => '169.254.169.254:80',
  },
  {
    ...{ name: 'paths of many hosts', verdict: 'allow', text: 'a URL with a path' },
    entry: (i) => `GET,HEAD http://service-${i}.example.com/v1/items/`,
    request: (i) => `GET http://service-${i}.example.com/v1/items/${i}?page=2`,
  },
  {
    ...{ name: 'paths of one host', verdict: 'allow' },
    entry: (i) => `GET,HEAD http://api.example.com/v1/item-${i}/`,
    request: (i) => `GET http://api.example.com/v1/item-${i}/parts/7?page=2`,
  },
  {
    ...{ name: 'paths of one host, other method', verdict: 'deny' },
    entry: (i) => `GET,HEAD http://api.example.com/v1/item-${i}/`,
    request: (i) => `POST http://api.example.com/v1/item-${i}/parts/7?page=2`,
  },
  {
    ...{ name: 'denied paths of one host', verdict: 'allow' },
    entry: (i) => (i === 0 ? 'api.example.com' : `!http://api.example.com/v1/item-${i}`),
    request: (i) => `GET http://api.example.com/v1/other-${i}/parts/7`,
  },
  {
    ...{ name: 'ports of one host', verdict: 'allow' },
    entry: (i) => `api.example.com:${i + 1}`,
    request: (i) => `api.example.com:${i + 1}`,
  },
  {
    ...{ name: 'path of 465 characters, encoded', verdict: 'allow' },
    entry: (i) => `GET http://service-${i}.example.com/v1/`,
    request: (i) => `GET http://service-${i}.example.com${ENCODED_PATH}${i}`,
  },
  {
    ...{ name: 'path of 2,000 characters', verdict: 'allow' },
    entry: (i) => `GET http://service-${i}.example.com/v1/`,
    request: (i) => `GET http://service-${i}.example.com${LONG_PATH}${i}`,
  },
];

/** Throws when the list does not say what the shape promises. */
export function makeCase({ name, verdict, entry, request }: Shape, size: number): Case {
  const parsed = parseAllowList(Array.from({ length: size }, (_, i) => entry(i, size)));
  if (!parsed.ok) throw new Error(sentenceOf(parsed.problem[0]));
  // Spread over the whole list, and the first entry among them.
  const raws = Array.from({ length: REQUESTS }, (_, i) =>
    request((i * Math.ceil(size / REQUESTS)) % size, size),
  );
  const requests = raws.map(readRequest);
  const wrong = requests.findIndex((each) => decide(parsed.value, each).verdict !== verdict);
  if (wrong >= 0) throw new Error(`Cannot measure "${name}" at ${size}: ${raws[wrong]} is not "${verdict}"`);
  return { name, size, list: parsed.value, raws, requests };
}

/** From text to what the list is asked, as the proxy does it. */
export function readRequest(raw: string): EgressRequest {
  const space = raw.indexOf(' ');
  if (space < 0) {
    const { host, port } = demand(parseAuthority(raw));
    return { host, port: port ?? 443 };
  }
  return { ...demand(parseHttpUrl(raw.slice(space + 1))), method: raw.slice(0, space) };
}

function demand<T>(parsed: Result<T>): T {
  if (!parsed.ok) throw new Error(sentenceOf(parsed.problem));
  return parsed.value;
}

/** Addresses from 20.0.0.0 to 83.255.255.255, scattered. */
function ipv4(index: number): bigint {
  return 0x1400_0000n + BigInt(Math.imul(index, 0x9e37_79b1) >>> 2);
}

/** Addresses below 2600::/8, scattered in their first 64 bits. */
function ipv6(index: number): bigint {
  const high = BigInt(Math.imul(index, 0x9e37_79b1) >>> 0);
  return (0x26n << 120n) | (high << 88n) | (high << 40n) | 7n;
}

function rangeOf(address: bigint, bits: number, width: 32 | 128): string {
  const shift = BigInt(width - bits);
  const first = (address >> shift) << shift;
  return width === 32 ? `${dotted(first)}/${bits}` : `[${groups(first)}]/${bits}`;
}

function dotted(address: bigint): string {
  return [24n, 16n, 8n, 0n].map((shift) => (address >> shift) & 255n).join('.');
}

function groups(address: bigint): string {
  const digits = address.toString(16).padStart(32, '0');
  return (digits.match(/.{4}/g) ?? []).join(':');
}
