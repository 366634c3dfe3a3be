import { formatAddress, parseAddress, specialRange } from '../../../egress/address.ts';
import { DOUBTFUL_HOSTS } from './links.table.ts';

/** A link that a reader should not follow unseen. */
type DoubtfulLink = { readonly at: number; readonly what: string };

/** An authority ends at one of these; it is read no further than the longest host name. */
const AUTHORITY_END = /[\s/?#"'<>()[\]{}|\\^`,;]/;
const MOST_CHARS = 300;
const MOST_LINKS = 20_000;
const LONGEST_BARE = 40;
const ACTIVE_SCHEME = /(?:^|[\s"'(<=[])(?:data:[a-z]{2,20}\/|(?:java|vb)script:\S)/g;

/** Links of a folded text that lead to a bare address, to anonymous hosting, or elsewhere than they seem. */
export function findDoubtfulLinks(text: string): readonly DoubtfulLink[] {
  const found: DoubtfulLink[] = [];
  const seen = new Set<string>();
  for (let at = text.indexOf('://'); at >= 0 && seen.size < MOST_LINKS; at = text.indexOf('://', at + 3)) {
    const authority = authorityAt(text, at + 3);
    if (seen.has(authority)) continue;
    seen.add(authority);
    const why = doubtOf(authority);
    if (why !== null) found.push({ at, what: why });
  }
  return [...found, ...disguised(text), ...bareHosts(text, seen)];
}

/** Where a link is text or a program itself; -1 if it is not. */
export function findActiveLink(text: string): number {
  ACTIVE_SCHEME.lastIndex = 0;
  return ACTIVE_SCHEME.exec(text)?.index ?? -1;
}

function authorityAt(text: string, start: number): string {
  const rest = text.slice(start, start + MOST_CHARS);
  // An IPv6 address is in brackets, which end any other one.
  const from = rest.startsWith('[') ? Math.max(rest.indexOf(']'), 0) : 0;
  const end = rest.slice(from + 1).search(AUTHORITY_END);
  return end < 0 ? rest : rest.slice(0, from + 1 + end);
}

function doubtOf(authority: string): string | null {
  const parts = authority.split('@');
  const host = (parts.at(-1) ?? '').replace(/:\d{0,5}$/, '').replace(/\.$/, '');
  if (parts.length > 1 && parts[0]?.includes('.'))
    return `leads to ${host}, and looks as if it led to ${parts[0]}`;
  if (host.includes('xn--')) return `leads to ${host}, which shows as other letters than it has`;
  return doubtOfHost(host) ?? doubtOfAddress(host);
}

/** The last labels, since no name of the table has more than three. */
function doubtOfHost(host: string): string | null {
  const labels = host.split('.').slice(-3);
  for (const from of labels.keys()) {
    const why = DOUBTFUL_HOSTS.get(labels.slice(from).join('.'));
    if (why !== undefined) return `leads to ${host}, ${why}`;
  }
  return null;
}

function doubtOfAddress(host: string): string | null {
  if (!/^(?:\[.*\]|[\da-fx.]*\d[\da-fx.]*)$/.test(host)) return null;
  const address = parseAddress(host);
  if (address === null) return null;
  const plain = formatAddress(address);
  if (address.family === 4 && plain !== host)
    return `leads to ${plain}, which is written as ${host} to hide it`;
  const special = specialRange(address, []);
  if (special?.name === 'metadata') return `leads to ${host}, ${special.sentence}`;
  // Examples of documentation, and addresses of one's own machine and network, lead nowhere else.
  return special === null ? `leads to the bare address ${host}` : null;
}

/** A link of Markdown that shows an address and leads to another. */
const SHOWN =
  /\[(?:https?:\/\/)?((?:[a-z0-9-]{1,63}\.){1,5}(?:com|org|net|io|dev|app|gov|edu))(?:\/[^\]\s]{0,200})?\]\(<?https?:\/\/([^\s/?#()<>]{1,253})/g;

function disguised(text: string): readonly DoubtfulLink[] {
  const found: DoubtfulLink[] = [];
  for (const { 1: shown = '', 2: host = '', index } of text.matchAll(SHOWN)) {
    const [first, second] = [shown, host].map((each) => each.replace(/^www\.|:\d{0,5}$/g, '')) as [
      string,
      string,
    ];
    if (first === second || second.endsWith(`.${first}`) || first.endsWith(`.${second}`)) continue;
    found.push({ at: index, what: `leads to ${second}, and shows ${first}` });
  }
  return found;
}

/** The same hosts followed by a path and not preceded by a scheme. */
function bareHosts(text: string, seen: ReadonlySet<string>): readonly DoubtfulLink[] {
  const found = new Map<string, DoubtfulLink>();
  for (let at = text.indexOf('/'); at >= 0; at = text.indexOf('/', at + 1)) {
    let start = at;
    while (start > 0 && at - start < LONGEST_BARE && isHostCode(text.charCodeAt(start - 1))) start -= 1;
    const host = text.slice(start, at);
    const isPath = text[start - 1] === '/' && text[start - 2] !== '/';
    if (isPath || !host.includes('.') || seen.has(host) || found.has(host)) continue;
    const why = doubtOfHost(host);
    if (why !== null) found.set(host, { at: start, what: why });
  }
  return [...found.values()];
}

function isHostCode(code: number): boolean {
  return (code >= 0x61 && code <= 0x7a) || (code >= 0x30 && code <= 0x39) || code === 0x2d || code === 0x2e;
}
