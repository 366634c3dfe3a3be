import { canonicalize } from '@palisade/sdk';
import { describe, expect, test } from 'vitest';
import type { DecisionRecord, ProxyFacts } from '../../../src/egress/proxy/ledger.ts';
import { reportOf } from '../../../src/tiers/network/report.ts';

const DECISION: DecisionRecord = {
  ...{ atMs: 1, host: 'a.test', port: 81, address: null, method: 'CONNECT' },
  ...{ rule: 'a.test:81', verdict: 'allow', why: 'the entry allows it', cut: null, intercepted: false },
  ...{ secrets: [], bytesIn: 3, bytesOut: 4 },
};

function factsOf(decisions: readonly DecisionRecord[]): ProxyFacts {
  return {
    ...{ connections: 1, turnedAway: 0, malformed: 0, unauthorized: 0, requests: decisions.length },
    ...{ denied: 0, cut: 0, faults: 0, bytesIn: 3, bytesOut: 4, decisions },
  };
}

describe('the report of a network', () => {
  test('says where a run without one was', () => {
    expect(reportOf({ egress: 'strict' }, null).isolation).toEqual({ egress: 'strict', network: 'none' });
    expect(reportOf({ egress: 'none' }, null).isolation).toEqual({ egress: 'none', network: 'host' });
  });

  test('has the decisions, and counts those that it leaves out', () => {
    const { record, bytes } = reportOf(
      { egress: 'strict' },
      factsOf(Array.from({ length: 205 }, () => DECISION)),
    );
    expect(record).toMatchObject({ requests: 205, more: 5 });
    expect((record as { decisions: unknown[] }).decisions).toHaveLength(200);
    expect(bytes).toBe(7);
  });

  test('has what went out, however much was tried or done elsewhere before and after', () => {
    const denied = { ...DECISION, verdict: 'deny', rule: null } as const;
    const noise = Array.from({ length: 300 }, (_, i) => ({ ...(i % 2 === 0 ? denied : DECISION), atMs: i }));
    const sent = { ...DECISION, host: 'b.test', method: 'POST' };
    const { record } = reportOf({ egress: 'strict' }, factsOf([...noise, sent, ...noise]));
    const { decisions } = record as unknown as { decisions: readonly DecisionRecord[] };
    expect(decisions).toHaveLength(200);
    expect(decisions.filter(({ host }) => host === 'b.test')).toEqual([sent]);
    expect(decisions.findIndex(({ host }) => host === 'b.test')).toBe(150);
  });

  test.each([0, 1])('can be signed wherever a long entry was cut', (shift) => {
    const rule = `${'a'.repeat(shift)}${'\u{1f4a9}'.repeat(200)}`;
    const { record } = reportOf({ egress: 'strict' }, factsOf([{ ...DECISION, rule }]));
    expect(() => canonicalize(record)).not.toThrow();
    expect(canonicalize(record)).toContain(rule.slice(0, 200 + shift));
  });
});
