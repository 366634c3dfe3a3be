/*
 * The same decisions, written another way: addresses are strings of 0 and 1 read by Node's own URL parser, ranges are
 * prefixes of such strings, lists are walked from end to end. Slow, and nothing is shared with what it judges.
 */
import type { Asked, Meant } from './generate.ts';

/** Special ranges by hand, the narrow ones first. */
const SINGLE =
  '169.254.169.254 169.254.170.2 169.254.170.23 168.63.129.16 100.100.100.200 192.0.0.192 169.254.0.23 169.254.42.42 fd00:ec2::254 fd00:ec2::23 fd20:ce::254 fd00:c1::a9fe:a9fe fd00:42::42 fe80::a9fe:a9fe 255.255.255.255 :: ::1';
const WIDE =
  '0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 192.0.2.0/24 192.88.99.0/24 192.168.0.0/16 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 224.0.0.0/4 240.0.0.0/4 ::/96 64:ff9b:1::/48 100::/64 2001:2::/48 2001:10::/28 2001:20::/28 2001:db8::/32 2001::/23 3fff::/20 fc00::/7 fe80::/10 fec0::/10 ff00::/8 ::/3 4000::/2 8000::/1';
const SPECIAL = [
  ...SINGLE.split(' ').map((text) => binaryOf(text)),
  ...WIDE.split(' ').map((text) => {
    const [address = '', bits] = text.split('/');
    return binaryOf(address).slice(0, 2 + Number(bits));
  }),
];

/** `4:` or `6:` and the bits, of an address in any spelling; the URL parser reads it. */
export function binaryOf(text: string): string {
  const isSix = text.includes(':');
  const { hostname } = new URL(`http://${isSix && !text.startsWith('[') ? `[${text}]` : text}/`);
  if (!hostname.startsWith('['))
    return `4:${hostname
      .split('.')
      .map((part) => pad(Number(part), 8))
      .join('')}`;
  const [head = '', tail] = hostname.slice(1, -1).split('::');
  const left = head.split(':').filter((group) => group !== '');
  const right = (tail ?? '').split(':').filter((group) => group !== '');
  const middle = Array.from({ length: 8 - left.length - right.length }, () => '0');
  const bits = [...left, ...middle, ...right].map((group) => pad(Number(`0x${group}`), 16)).join('');
  return bits.startsWith(`${'0'.repeat(80)}${'1'.repeat(16)}`) ? `4:${bits.slice(96)}` : `6:${bits}`;
}

function pad(value: number, length: number): string {
  return value.toString(2).padStart(length, '0');
}

/** The plain text of what `binaryOf` gives. */
export function textOfBinary(binary: string): string {
  const bits = binary.slice(2);
  if (binary.startsWith('4')) return (bits.match(/.{8}/g) ?? []).map((part) => Number(`0b${part}`)).join('.');
  const groups = (bits.match(/.{16}/g) ?? []).map((part) => Number(`0b${part}`).toString(16));
  return new URL(`http://[${groups.join(':')}]/`).hostname.slice(1, -1);
}

function carried(binary: string): readonly string[] {
  if (binary.startsWith('4')) return [];
  const hex = (binary.slice(2).match(/.{4}/g) ?? []).map((part) => Number(`0b${part}`).toString(16)).join('');
  const last = hex.slice(24);
  const found: string[] = [];
  if (hex.startsWith('0064ff9b0000000000000000')) found.push(last);
  if (hex.startsWith('2002')) found.push(hex.slice(4, 12));
  if (hex.startsWith('20010000'))
    found.push([...last].map((digit) => (15 - Number(`0x${digit}`)).toString(16)).join(''), hex.slice(8, 16));
  if (/^0{24}/.test(hex) || /^0{16}ffff0000/.test(hex)) found.push(last);
  if (hex.startsWith('0064ff9b0001')) found.push(last, hex.slice(12, 16) + hex.slice(18, 22));
  if (/^.{16}0[02]005efe/.test(hex)) found.push(last);
  return found.map((digits) => `4:${pad(Number(`0x${digits}`), 32)}`);
}

/** How long the prefix of an entry must be to name the address (0 when nothing is special about it). */
export function bitsToName(binary: string): number {
  const row = SPECIAL.find((prefix) => binary.startsWith(prefix));
  if (binary.startsWith('4')) return row === undefined ? 0 : row.length - 2;
  if (row?.length === 130) return 128;
  if (carried(binary).some((each) => bitsToName(each) > 0)) return 128;
  const byContents = [
    binaryOf('64:ff9b::').slice(0, 98),
    binaryOf('2002::').slice(0, 18),
    binaryOf('2001::').slice(0, 34),
  ];
  if (row === undefined || byContents.some((prefix) => binary.startsWith(prefix))) return 0;
  return row.length - 2;
}

function hostFits(meant: Meant, name: string | null, binary: string | null): boolean {
  if (meant.place === 'name') return name === meant.host;
  if (meant.place === 'below') return name?.endsWith(`.${meant.host}`) ?? false;
  return binary?.startsWith(binaryOf(meant.host).slice(0, 2 + meant.bits)) ?? false;
}

/** One term against what is known of it: undefined is unknown. */
function term(known: boolean | undefined, denies: boolean): boolean {
  return known ?? denies;
}

function restFits(meant: Meant, asked: Asked): boolean {
  const { denies, methods, scheme, port, path } = meant;
  const usual = scheme === 'http' ? [80] : scheme === 'https' ? [443] : [80, 443];
  if (port !== null ? asked.port !== port : !denies && !usual.includes(asked.port)) return false;
  if (scheme !== null && !term(asked.scheme && asked.scheme === scheme, denies)) return false;
  const method = denies ? asked.method?.toUpperCase() : asked.method;
  if (methods !== null && !term(method === undefined ? undefined : methods.includes(method), denies))
    return false;
  return path === null || term(pathFits(path, asked.path, denies), denies);
}

/** Segment by segment; undefined when servers could differ. */
function pathFits(prefix: string, sent: string | undefined, denies: boolean): boolean | undefined {
  if (sent === undefined || /%2[ef]/i.test(sent) || /^\/\/|\/\.\.?(;|\/|$)/.test(sent)) return undefined;
  const segments = (path: string) =>
    decodeURIComponent(path.split('?')[0] ?? '')
      .split('/')
      .map((each) => (denies ? (each.split(';')[0] ?? '').toLowerCase() : each))
      .filter((each) => each !== '');
  const wanted = segments(prefix);
  const supplied = segments(sent);
  if (!wanted.every((each, at) => each === supplied[at])) return false;
  const needsMore = !denies && prefix.endsWith('/') && supplied.length === wanted.length;
  return !needsMore || /\/(\?|$)/.test(sent);
}

/** The verdict, by walking the whole list. */
export function judge(entries: readonly Meant[], asked: Asked): 'allow' | 'deny' {
  const isAddress = asked.host.includes(':') || /^[\d.]+$/.test(asked.host);
  const name = isAddress ? null : asked.host;
  const binary = isAddress ? binaryOf(asked.host) : null;
  const readings = binary === null ? [null] : [binary, ...carried(binary)];
  const denies = (meant: Meant) =>
    meant.denies && readings.some((reading) => hostFits(meant, name, reading)) && restFits(meant, asked);
  if (entries.some(denies)) return 'deny';
  const least = binary === null ? 0 : bitsToName(binary);
  const allows = (meant: Meant) =>
    !meant.denies &&
    hostFits(meant, name, binary) &&
    restFits(meant, asked) &&
    (least === 0 || effectiveBits(meant) >= least);
  return entries.some(allows) ? 'allow' : 'deny';
}

function effectiveBits({ place, bits }: Meant): number {
  return place === 'range' ? bits : 0;
}
