/** Tries random spellings, hosts and lists, and compares what the room says with the URL parser of Node and the oracle. */
import { isIPv4 } from 'node:net';
import { sentenceOf } from '../../../src/core/result.ts';
import { type Address, formatAddress, parseAddress, specialRange } from '../../../src/egress/address.ts';
import { type AllowList, parseAllowList } from '../../../src/egress/allowlist.ts';
import { formatHost, type Host, parseHost } from '../../../src/egress/authority.ts';
import { decide, type EgressDecision, type EgressRequest } from '../../../src/egress/decide.ts';
import {
  type Meant,
  makeAddress,
  makeEntry,
  makeHostText,
  makeRequest,
  respell,
  textOf,
} from './generate.ts';
import { binaryOf, bitsToName, judge, textOfBinary } from './oracle.ts';
import { type Random, randomFrom } from './random.ts';

/** What is tried; tests hand in broken ones. */
export type Subject = {
  readonly parseAddress: (text: string) => Address | null;
  readonly specialRange: (address: Address) => { readonly range: { readonly bits: number } } | null;
  readonly decide: (list: AllowList, request: EgressRequest) => EgressDecision;
};

export const SUBJECT: Subject = {
  parseAddress,
  specialRange: (address) => specialRange(address, []),
  decide,
};

export type Report = { cases: number; hosts: number; allowed: number; denied: number; findings: string[] };

const MOST_FINDINGS = 20;
const ENTRIES = 8;
const REQUESTS = 12;

/** Runs so many cases, or stops at the first findings. The same seed gives the same cases. */
export function fuzz(seed: number, count: number, subject: Subject = SUBJECT): Report {
  const random = randomFrom(seed);
  const report: Report = { cases: 0, hosts: 0, allowed: 0, denied: 0, findings: [] };
  while (report.cases < count && report.findings.length < MOST_FINDINGS) {
    trySpelling(random, report, subject);
    tryHost(random, report);
    tryList(random, report, subject);
  }
  return report;
}

function trySpelling(random: Random, report: Report, subject: Subject): void {
  report.cases += 1;
  const plain = makeAddress(random, random.chance(2) ? 4 : 6);
  const spelling = respell(random, plain);
  const address = subject.parseAddress(spelling);
  const text = address === null ? 'not a valid address' : formatAddress(address);
  const expected = textOfBinary(binaryOf(plain));
  if (text !== expected) report.findings.push(`${spelling} is ${text}, expected ${expected}`);
  if (address === null) return;
  const special = subject.specialRange(address)?.range.bits ?? 0;
  const least = bitsToName(binaryOf(plain));
  if (special !== least) report.findings.push(`${plain} is named by ${special} bits, expected ${least}`);
}

/** A host is what the URL parser finds, or refused; it is never a name where the URL parser finds an address. */
function tryHost(random: Random, report: Report): void {
  report.cases += 1;
  const raw = makeHostText(random);
  const host = parseHost(raw);
  if (!host.ok) return;
  report.hosts += 1;
  const text = formatHost(host.value);
  const inUrl = raw.includes(':') && !raw.startsWith('[') ? `[${raw}]` : raw;
  const found = new URL(`http://${inUrl}/`).hostname.replace(/\.$/, '');
  const isAddress = found.startsWith('[') || isIPv4(found);
  if (isAddress !== (host.value.kind === 'address'))
    report.findings.push(`${JSON.stringify(raw)} is a ${host.value.kind}`);
  const expected = isAddress ? textOfBinary(binaryOf(found)) : found;
  if (text !== expected) report.findings.push(`${JSON.stringify(raw)} is ${text}, expected ${expected}`);
  if (host.value.kind === 'name' && !/^[a-z0-9_]([a-z0-9_.-]*[a-z0-9_])?$/.test(text))
    report.findings.push(`${raw} is a name`);
}

function tryList(random: Random, report: Report, subject: Subject): void {
  const entries = Array.from({ length: random.below(ENTRIES) }, () => makeEntry(random)).filter(isWritable);
  const texts = entries.map(entryText);
  const parsed = parseAllowList(texts);
  if (!parsed.ok) {
    report.cases += 1;
    report.findings.push(...parsed.problem.map(sentenceOf));
    return;
  }
  for (let left = REQUESTS; left > 0; left -= 1) {
    report.cases += 1;
    const asked = makeRequest(random, entries);
    const { verdict } = subject.decide(parsed.value, { ...asked, host: hostOf(random, asked.host) });
    if (verdict === 'allow') report.allowed += 1;
    else report.denied += 1;
    const expected = judge(entries, asked);
    if (verdict === expected) continue;
    report.findings.push(
      `${JSON.stringify({ entries: texts, asked })} gives ${verdict}, expected ${expected}`,
    );
  }
}

function hostOf(random: Random, text: string): Host {
  const isAddress = text.includes(':') || /^[\d.]+$/.test(text);
  const host = parseHost(
    isAddress ? respell(random, text) : random.pick([text, text.toUpperCase(), `${text}.`]),
  );
  if (!host.ok) throw new Error(sentenceOf(host.problem));
  return host.value;
}

/** The entry with the first address of its range. */
function entryText(meant: Meant): string {
  if (meant.place !== 'range') return textOf(meant, '');
  const binary = binaryOf(meant.host);
  const width = meant.host.includes(':') ? 128 : 32;
  const bits = binary.slice(2, 2 + meant.bits).padEnd(width, '0');
  return textOf(meant, textOfBinary(binary.slice(0, 2) + bits));
}

/** Leaves out what has no text: a mapped range, which would be written as the IPv4 range it is. */
function isWritable(meant: Meant): boolean {
  if (meant.place !== 'range') return true;
  return (
    binaryOf(meant.host).startsWith(meant.host.includes(':') ? '6' : '4') &&
    !entryText(meant).includes('[::ffff:')
  );
}
