import { describe, expect, it } from 'vitest';
import type { FetchDecision, FetchOutcome } from '../../../src/egress/fetch/outcome.ts';
import { CallNetwork } from '../../../src/tiers/a-wasm/call-network.ts';

const decision = (changes: Partial<FetchDecision> = {}): FetchDecision => ({
  ...{ url: 'https://a.test/path?key=in-the-url', host: 'a.test', port: 443, address: '192.0.2.1' },
  ...{
    method: 'GET',
    rule: 'a.test',
    verdict: 'allow',
    atMs: 1,
    why: 'the entry allows it',
    secrets: ['key'],
  },
  ...changes,
});
const hop = { ...decision(), status: 200 };
const arrived = (hops = [hop]): FetchOutcome => ({
  ...{ ok: true, status: 200, headers: [], body: new Uint8Array(0), url: '' },
  ...{ hops, bytesIn: 30, bytesOut: 12 },
});

describe('the network of a call', () => {
  it('is none where nothing was granted', () => {
    expect(new CallNetwork([]).report()).toEqual({
      ...{ output: {}, isolation: { egress: 'strict', network: 'none' }, record: null, bytes: 0 },
    });
  });

  it('has each decision, what became of it, and no URL', () => {
    const network = new CallNetwork(['a.test']);
    expect(network.admit()).toBe(true);
    network.note(decision());
    network.end(arrived());
    const { record, isolation, bytes } = network.report();
    expect(record).toMatchObject({
      ...{ connections: 1, requests: 1, denied: 0, cut: 0, bytesIn: 30, bytesOut: 12, more: 0 },
      decisions: [{ host: 'a.test', port: 443, secrets: ['key'], cut: null, bytesIn: 30, bytesOut: 12 }],
    });
    expect(JSON.stringify(record)).not.toContain('in-the-url');
    expect(isolation).toMatchObject({ network: 'listed hosts', egressRequests: 1, egressBytesOut: 12 });
    expect(bytes).toBe(42);
  });

  it('does not share out what redirects took together', () => {
    const network = new CallNetwork(['a.test']);
    network.note(decision());
    network.note(decision({ port: 8443 }));
    network.end(arrived([hop, hop]));
    expect(network.report().record).toMatchObject({
      bytesIn: 30,
      decisions: [{ bytesIn: null }, { bytesIn: null }],
    });
  });

  it.each([
    ['cancelled', 'allow', 1],
    ['too-slow', 'allow', 1],
    ['unreachable', 'allow', 0],
    ['denied', 'deny', 0],
  ] as const)('tells what the gateway cut: %s after %s', (code, verdict, cut) => {
    const network = new CallNetwork(['a.test']);
    network.note(decision({ verdict }));
    network.end({ ok: false, code, why: 'why it was', hops: [hop], bytesIn: 0, bytesOut: 9 });
    const denied = verdict === 'deny' ? 1 : 0;
    const reported = { cut: cut === 1 ? 'why it was' : null, bytesOut: 9 };
    expect(network.report().record).toMatchObject({ cut, denied, decisions: [reported] });
  });

  it('takes ten thousand requests, and no more', () => {
    const network = new CallNetwork(['a.test']);
    const admitted = Array.from({ length: 10_001 }, () => network.admit());
    expect(admitted.lastIndexOf(true)).toBe(9_999);
    expect(admitted.at(-1)).toBe(false);
  });

  it('repeats no name that a guest may have made of a secret', () => {
    const network = new CallNetwork(['a.test', '*.b.test', '10.1.2.3:8080', '10.2.0.0/16:80']);
    const hosts = ['a.test', 'sk-live-1.b.test', 'sk-live-1.evil.test', '10.1.2.3', '10.2.1.1'];
    for (const host of hosts) network.note(decision({ host, why: `about ${host}` }));
    expect(JSON.stringify(network.report().record)).toContain('sk-live-1.evil.test');
    network.hideNames();
    const { record } = network.report();
    const { decisions } = record as unknown as { decisions: { host: string; why: string }[] };
    expect(decisions.map(({ host }) => host.replace(/\[hidden.*/, '?'))).toEqual([
      ...['a.test', '?', '?', '10.1.2.3', '?'],
    ]);
    expect(JSON.stringify(record)).not.toContain('sk-live-1');
  });
});
