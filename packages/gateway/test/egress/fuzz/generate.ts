import type { Random } from './random.ts';

/** An entry as it is meant; its text is made from it, so the oracle reads no entry. */
export type Meant = {
  readonly denies: boolean;
  readonly methods: readonly string[] | null;
  readonly scheme: 'http' | 'https' | null;
  readonly place: 'name' | 'below' | 'range';
  /** A name or an address. */
  readonly host: string;
  readonly bits: number;
  readonly port: number | null;
  readonly path: string | null;
};

export type Asked = {
  readonly host: string;
  readonly port: number;
  readonly scheme: 'http' | 'https' | undefined;
  readonly method: string | undefined;
  readonly path: string | undefined;
};

const NAMES = [
  'a.example',
  'b.a.example',
  'c.b.a.example',
  'xa.example',
  'a.example.io',
  'example.io',
  'a.a.example',
];
const IPV4 = [
  '10.1.2.3',
  '10.1.2.4',
  '127.0.0.1',
  '169.254.169.254',
  '169.254.1.1',
  '8.8.8.8',
  '8.8.4.4',
  '168.63.129.16',
];
const IPV4_MORE = [
  '100.64.0.1',
  '100.100.100.200',
  '0.0.0.0',
  '255.255.255.255',
  '224.0.0.1',
  '192.0.2.1',
  '198.18.0.1',
  '9.9.9.9',
];
const IPV6 = [
  '2606:4700::1',
  '2606:4700::2',
  'fd12::1',
  'fd00:ec2::254',
  '::1',
  '::',
  'fe80::1',
  'ff02::1',
  '3fff::1',
  '4000::1',
];
const FAMILIES = [4, 6] as const;
const PORTS = [80, 443, 8_080, 22];
const PATHS = ['/v1', '/v1/', '/v1/a', '/admin/', '/x-y_z'];
const SENT = [
  '/',
  '/v1',
  '/v1/',
  '/v1/a',
  '/v1/a/b?c',
  '/v1x',
  '/V1/A',
  '/v1//a',
  '/v1/../admin/',
  '/v1/%2e%2e/admin',
  '/%61dmin/x',
];
const SENT_MORE = [
  '/admin',
  '/ADMIN/',
  '/admin;a=b/',
  '//admin/',
  '/;x/admin/y',
  '/administrator',
  '/v1/..;/admin',
  '/x-y_z?',
  '/a%2fb',
];
const METHODS = ['GET', 'HEAD', 'POST', 'DELETE'];

export function makeEntry(random: Random): Meant {
  const denies = random.chance(4);
  const isRange = random.chance(2);
  const address = makeAddress(random, random.pick(FAMILIES));
  const full = address.includes(':') ? 128 : 32;
  const least = denies ? 0 : full === 32 ? 8 : 7;
  const bits = random.chance(3) ? full : random.pick([8, 12, 16, 24, 31, 32, 48, 64, 96, 104, 120, 127, 128]);
  const hasScheme = random.chance(3) && (!isRange || bits === full);
  return {
    denies,
    methods: random.chance(5) ? [random.pick(METHODS), random.pick(METHODS)] : null,
    scheme: hasScheme ? random.pick(['http', 'https'] as const) : null,
    place: isRange ? 'range' : random.pick(['name', 'below'] as const),
    host: isRange ? address : random.pick(NAMES),
    bits: Math.max(least, Math.min(full, bits)),
    port: random.chance(2) ? random.pick(PORTS) : null,
    path: hasScheme && random.chance(2) ? random.pick(PATHS) : null,
  };
}

/** The entry as an operator would write it, given the first address of its range. */
export function textOf(meant: Meant, first: string): string {
  const full = meant.host.includes(':') ? 128 : 32;
  const address = first.includes(':') ? `[${first}]` : first;
  const range = meant.bits === full ? address : `${address}/${meant.bits}`;
  const host = meant.place === 'range' ? range : meant.place === 'below' ? `*.${meant.host}` : meant.host;
  const methods = meant.methods === null ? '' : `${meant.methods.join(',')} `;
  const scheme = meant.scheme === null ? '' : `${meant.scheme}://`;
  const port = meant.port === null ? '' : `:${meant.port}`;
  return `${meant.denies ? '!' : ''}${methods}${scheme}${host}${port}${meant.path ?? ''}`;
}

/** A request for anything, or for something near one of the entries. */
export function makeRequest(random: Random, entries: readonly Meant[]): Asked {
  const near = entries.length > 0 && !random.chance(4) ? random.pick(entries) : null;
  const isTunnel = random.chance(3);
  const isNear = () => near !== null && !random.chance(6);
  const scheme = isNear() && near?.scheme ? near.scheme : random.pick(['http', 'https'] as const);
  const methods = isNear() && near?.methods ? near.methods : [...METHODS, 'get'];
  const usual = scheme === 'http' ? 80 : 443;
  return {
    host: near !== null && isNear() ? hostNear(random, near) : makeHost(random),
    port: isNear() ? (near?.port ?? usual) : random.pick(PORTS),
    scheme: isTunnel ? undefined : scheme,
    method: isTunnel ? undefined : random.pick(methods),
    path: isTunnel ? undefined : random.pick([...SENT, ...SENT_MORE]),
  };
}

function makeHost(random: Random): string {
  return random.chance(2) ? random.pick([...NAMES, 'evil.io']) : makeAddress(random, random.pick(FAMILIES));
}

function hostNear(random: Random, { place, host }: Meant): string {
  return place === 'below' ? `${random.pick(['x.', 'x.y.', 'x', ''])}${host}` : host;
}

/** An address, plain; an IPv6 one often carries an IPv4 one. */
export function makeAddress(random: Random, family: 4 | 6): string {
  const four = random.chance(3)
    ? Array.from({ length: 4 }, () => random.below(256)).join('.')
    : random.pick([...IPV4, ...IPV4_MORE]);
  if (family === 4) return four;
  const [high = '', low = ''] = hexOf(four);
  const [flippedHigh = '', flippedLow = ''] = hexOf(
    four
      .split('.')
      .map((part) => 255 - Number(part))
      .join('.'),
  );
  return random.pick([
    ...IPV6,
    `64:ff9b::${four}`,
    `64:ff9b:1::${four}`,
    `64:ff9b:1:${high}:${low.padStart(4, '0').slice(0, 2)}:${low.padStart(4, '0').slice(2)}00::`,
    `2002:${high}:${low}::1`,
    `2001:0:808:808::${flippedHigh}:${flippedLow}`,
    `2001:0:${high}:${low}::f7f7:f7f7`,
    `2606:4700::5efe:${four}`,
    `2606:4700::200:5efe:${four}`,
    `::ffff:0:${four}`,
    `::${four}`,
    Array.from({ length: 8 }, () => random.below(0x1_0000).toString(16)).join(':'),
  ]);
}

function hexOf(four: string): readonly string[] {
  const [a = 0, b = 0, c = 0, d = 0] = four.split('.').map(Number);
  return [(a * 256 + b).toString(16), (c * 256 + d).toString(16)];
}

/** Another spelling of the same address. */
export function respell(random: Random, address: string): string {
  if (address.includes(':')) return random.chance(2) ? address.toUpperCase() : `[${address}]`;
  const parts = address.split('.').map(Number);
  const keep = random.below(4);
  const tail = parts.slice(keep).reduce((sum, part) => sum * 256 + part, 0);
  const spelled = [...parts.slice(0, keep), tail].map((value) =>
    random.pick([
      String(value),
      `0x${value.toString(16)}`,
      `0${value.toString(8)}`,
      `0X000${value.toString(16)}`,
    ]),
  );
  const mapped = `[::ffff:${hexOf(address).join(':')}]`;
  return random.chance(6) ? mapped : spelled.join('.') + (random.chance(6) ? '.' : '');
}

/** A text that might be a host. */
export function makeHostText(random: Random): string {
  const alphabet = random.pick(['0123456789abcdefxX.:[]', '0123.0x', 'aB1.-_é。①%@#?/\\ \t*', 'xn--a.b:0']);
  return Array.from({ length: random.below(14) }, () => random.pick([...alphabet])).join('');
}
