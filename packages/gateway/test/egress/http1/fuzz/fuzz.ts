/** Tries random heads on the reader of the proxy and compares what it takes with the oracle. */
import { formatHost } from '../../../../src/egress/authority.ts';
import type { HttpResult } from '../../../../src/egress/http1/fields.ts';
import { formatRequestHead, type ProxyRequest } from '../../../../src/egress/http1/request.ts';
import { randomFrom } from '../../fuzz/random.ts';
import { readText } from '../read.ts';
import { makeText } from './generate.ts';
import { type Wanted, wantedBy } from './oracle.ts';

/** What is tried; tests hand in broken ones. */
export type Reader = (text: string) => HttpResult<ProxyRequest> | null;

export type Report = { cases: number; taken: number; refused: number; findings: string[] };

const GROUND = { host: 'allowed.test', port: 8080, credential: 'Basic cnVuOnRva2Vu' };
const MOST_FINDINGS = 20;

/** Runs so many cases, or stops at the first findings. The same seed gives the same cases. */
export function fuzz(seed: number, count: number, read: Reader = readText): Report {
  const random = randomFrom(seed);
  const report: Report = { cases: 0, taken: 0, refused: 0, findings: [] };
  while (report.cases < count && report.findings.length < MOST_FINDINGS) {
    const text = makeText(random, GROUND);
    report.cases += 1;
    const request = read(text);
    if (request === null || !request.ok) {
      report.refused += 1;
      continue;
    }
    report.taken += 1;
    const problem = compare(request.value, wantedBy(text));
    if (problem !== null) report.findings.push(`${problem}: ${JSON.stringify(text)}`);
  }
  return report;
}

function compare(request: ProxyRequest, wanted: Wanted | null): string | null {
  if (wanted === null) return 'it was taken, expected a refusal';
  const { egress, method } = request;
  const path = request.kind === 'plain' ? request.path : null;
  const framing = request.kind === 'plain' ? request.framing : { kind: 'none' as const };
  const body = framing.kind === 'length' ? framing.bytes : framing.kind;
  const taken = `${method} ${formatHost(egress.host)} ${egress.port} ${path}`;
  const expected = `${wanted.method} ${wanted.host} ${wanted.port} ${wanted.path}`;
  if (taken !== expected) return `it was taken for ${taken}, expected ${expected}`;
  if (request.kind !== 'plain') return null;
  if (body !== wanted.body) return `its body was taken for ${body}, expected ${wanted.body}`;
  return problemWithHead(formatRequestHead(request).toString('latin1'), wanted);
}

/** What is wrong with a head that would be sent to the target. */
function problemWithHead(head: string, wanted: Wanted): string | null {
  const lines = head.split('\r\n');
  const count = (name: RegExp) => lines.filter((line) => name.test(line)).length;
  if (lines[0] !== `${wanted.method} ${wanted.path} HTTP/1.1`) return `its first line is ${lines[0]}`;
  if (!head.endsWith('\r\nConnection: close\r\n\r\n')) return 'it does not end the connection';
  if (head.indexOf('\r\n\r\n') !== head.length - 4) return 'it is more than one head';
  if (/[\r\n\0]/.test(lines.join(''))) return 'it has a line break of its own';
  if (count(/^host:/i) !== 1 || count(/^connection:/i) !== 1) return 'it has not one Host and one Connection';
  if (count(/^(?:content-length|transfer-encoding):/i) !== (wanted.body === 'none' ? 0 : 1))
    return 'it has other lengths';
  return count(/^(?:proxy-|upgrade:|te:|keep-alive:)/i) === 0 ? null : 'it has what was meant for the proxy';
}
