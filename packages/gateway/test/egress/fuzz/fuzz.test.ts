import { describe, expect, it } from 'vitest';
import { volume } from '../../../../../tests/volume/volume.ts';
import { parseAddress } from '../../../src/egress/address.ts';
import { parseAllowList } from '../../../src/egress/allowlist.ts';
import { decide } from '../../../src/egress/decide.ts';
import { fuzz, SUBJECT, type Subject } from './fuzz.ts';

describe('a short run', () => {
  it('finds no difference from the oracle and the URL parser', () => {
    const { findings, cases, hosts, allowed, denied } = fuzz(1, volume(60_000, 12_000));
    expect(findings).toEqual([]);
    // Without enough of each it would have proved little.
    expect(hosts).toBeGreaterThan(cases / 100);
    expect(allowed).toBeGreaterThan(cases / 20);
    expect(denied).toBeGreaterThan(cases / 20);
  });

  it('has the same cases when it has the same seed', () => {
    expect(fuzz(5, 2_000)).toEqual(fuzz(5, 2_000));
    expect(fuzz(5, 2_000)).not.toEqual(fuzz(6, 2_000));
  });
});

describe('the fuzzer notices', () => {
  const foundWith = (broken: Partial<Subject>) =>
    fuzz(3, volume(20_000, 8_000), { ...SUBJECT, ...broken }).findings.length;

  it('nothing about what is right', () => {
    expect(foundWith({})).toBe(0);
  });

  it.each<[string, Partial<Subject>]>([
    [
      'octal read as decimal',
      { parseAddress: (text) => parseAddress(text.replace(/(^|\.)0+(?=[1-7])/g, '$1')) },
    ],
    [
      'a short form that is no address',
      { parseAddress: (text) => (/^\d+\.\d+$/.test(text) ? null : parseAddress(text)) },
    ],
    [
      'what is carried',
      { specialRange: (address) => (address.family === 6 ? null : SUBJECT.specialRange(address)) },
    ],
    ['denials that are left out', { decide: decideWithoutDenials }],
    ['a port that does not matter', { decide: (list, request) => decide(list, { ...request, port: 443 }) }],
    ['a method that is guessed', { decide: (list, request) => decide(list, { ...request, method: 'GET' }) }],
    ['a path that is guessed', { decide: (list, request) => decide(list, { ...request, path: '/v1/a' }) }],
  ])('%s', (_what, broken) => {
    expect(foundWith(broken)).toBeGreaterThan(0);
  });
});

const decideWithoutDenials: Subject['decide'] = ({ entries }, request) => {
  const parsed = parseAllowList(entries.filter((entry) => !entry.startsWith('!')));
  return decide(parsed.ok ? parsed.value : fail('the entries that are left are a list'), request);
};

function fail(what: string): never {
  throw new Error(`Cannot test: ${what}`);
}
