/** A call's own list of hosts narrows what the operator allows, in a decision, in a fetch and in the proxy. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { volume } from '../../../../tests/volume/volume.ts';
import { type AllowList, narrowList, parseAllowList } from '../../src/egress/allowlist.ts';
import { decide, denyAddress } from '../../src/egress/decide.ts';
import { openWorld } from './fetch/world.ts';
import {
  allowing,
  connectHead,
  HELLO,
  NAME,
  plainHead,
  startAnswering,
  startProxy,
  statusOf,
  talk,
} from './proxy/world.ts';
import { addressOf, requestOf } from './sample.ts';

const OTHER = 'other.test';
const ANSWERS = { [NAME]: ['127.0.0.1'], [OTHER]: ['127.0.0.1'] };

function listFrom(source: string, entries: readonly string[]): AllowList {
  const parsed = parseAllowList(entries, source);
  if (!parsed.ok) throw new Error(parsed.problem[0].is);
  return parsed.value;
}

/** What a call asks for, and what the operator allows: both hosts. */
function narrowed(ofCall: readonly string[], port = 443): AllowList {
  const operator = [...allowing(NAME, port), ...allowing(OTHER, port)];
  return narrowList(listFrom('the list of the call', ofCall), listFrom('the list of the operator', operator));
}

describe('a list of the call', () => {
  it('denies a host that the operator allows and the call does not name', () => {
    const list = narrowed([`${NAME}:443`]);
    expect(decide(list, requestOf(`${NAME}:443`))).toMatchObject({ verdict: 'allow', rule: `${NAME}:443` });
    expect(decide(list, requestOf(`${OTHER}:443`))).toEqual({
      verdict: 'deny',
      rule: null,
      why: `Cannot reach "${OTHER}:443": no entry of the list of the call has this host, expected one such as "${OTHER}:443"`,
    });
  });

  it('opens nothing that the operator does not allow, and the denial names the list of the operator', () => {
    const list = narrowed([`${NAME}:443`, 'evil.test:443']);
    for (const host of ['evil.test', 'unknown.test'])
      expect(decide(list, requestOf(`${host}:443`))).toMatchObject({
        verdict: 'deny',
        why: expect.stringContaining('no entry of the list of the operator has this host'),
      });
    expect(decide(narrowed([]), requestOf(`${NAME}:443`)).verdict).toBe('deny');
  });

  it('counts for addresses as well', () => {
    const address = addressOf('127.0.0.1');
    const request = requestOf(`${NAME}:443`);
    expect(denyAddress(narrowed(allowing(NAME, 443)), request, address, [])).toBeNull();
    expect(denyAddress(narrowed([`${NAME}:443`]), request, address, [])).toMatchObject({ verdict: 'deny' });
  });

  it('opens no address of this machine that the operator does not name, behind a name that both allow', () => {
    const operator = listFrom('the list of the operator', [`${NAME}:443`]);
    const ofCall = listFrom('the list of the call', [`${NAME}:443`, '127.0.0.1:443']);
    const request = requestOf(`${NAME}:443`);
    for (const list of [narrowList(ofCall, operator), narrowList(operator, ofCall)])
      expect(denyAddress(list, request, addressOf('127.0.0.1'), [])).toMatchObject({ verdict: 'deny' });
    expect(denyAddress(ofCall, request, addressOf('127.0.0.1'), [])).toBeNull();
  });
});

describe('a list that narrows another', () => {
  const place = fc.constantFrom(
    'a.test',
    '*.a.test',
    'a.test:443',
    'https://a.test/v1',
    '127.0.0.1:443',
    '10.0.0.0/8',
  );
  const entry = fc.tuple(fc.constantFrom('', '', '!'), fc.constantFrom('', 'GET '), place);
  const list = fc
    .array(
      entry.map((parts) => parts.join('')),
      { maxLength: 5 },
    )
    .map((entries) => listFrom('a list', entries));
  const text = fc.constantFrom(
    'a.test:443',
    'GET https://a.test:443/v1/x',
    'POST https://a.test:443/',
    '10.1.2.3:443',
  );
  const address = fc.constantFrom('127.0.0.1', '10.1.2.3', '93.184.216.34', '::ffff:10.1.2.3');

  it('lets through what both lists let through, in either order and at any depth', () => {
    const outcomes = new Set<string>();
    fc.assert(
      fc.property(fc.tuple(list, list, list), text, address, ([a, b, c], asked, at) => {
        const request = requestOf(asked);
        const isOpen = (each: AllowList) => decide(each, request).verdict === 'allow';
        const isOpenAt = (each: AllowList) => denyAddress(each, request, addressOf(at), []) === null;
        const all = [a, b, c];
        for (const both of [narrowList(narrowList(a, b), c), narrowList(c, narrowList(b, a))]) {
          expect(isOpen(both)).toBe(all.every(isOpen));
          expect(isOpenAt(both)).toBe(all.every(isOpenAt));
        }
        outcomes.add(`${all.map(isOpen)} ${all.every(isOpenAt)}`);
      }),
      { numRuns: volume(10_000, 400) },
    );
    expect(outcomes.size).toBeGreaterThan(8);
  });
});

describe('a fetch on a narrowed list', () => {
  it('reaches the host that both lists have, and neither looks up nor reaches the other', async () => {
    const target = await startAnswering(HELLO);
    const { get, asked } = openWorld({ answers: ANSWERS });
    const list = () => narrowed(allowing(NAME, target.port), target.port);
    const allowed = await get(`http://${NAME}:${target.port}/`, {}, { list });
    const denied = await get(`http://${OTHER}:${target.port}/`, {}, { list });
    expect(allowed).toMatchObject({ ok: true, status: 200 });
    expect(denied).toMatchObject({ ok: false, code: 'denied' });
    expect({ asked, requests: target.seen.length }).toEqual({ asked: [NAME], requests: 1 });
  });
});

describe('a proxy on a narrowed list', () => {
  it('does not connect to an address that only the call names', async () => {
    const target = await startAnswering(HELLO);
    const operator = (...more: string[]) => listFrom('the operator', [`${NAME}:${target.port}`, ...more]);
    const ofCall = listFrom('the call', allowing(NAME, target.port));
    const ask = async (list: AllowList) => {
      const { port } = await startProxy({ answers: ANSWERS, options: { list: () => list } });
      return statusOf(await talk(port, plainHead('GET', `http://${NAME}:${target.port}/`)));
    };
    expect(await ask(narrowList(ofCall, operator()))).toBe(403);
    expect(target.seen).toEqual([]);
    expect(await ask(narrowList(ofCall, operator(`127.0.0.1:${target.port}`)))).toBe(200);
  });

  it('serves the host that both lists have, and neither looks up nor reaches the other', async () => {
    const target = await startAnswering(HELLO);
    const list = () => narrowed(allowing(NAME, target.port), target.port);
    const { port, asked } = await startProxy({ answers: ANSWERS, options: { list } });
    const get = async (host: string) =>
      statusOf(await talk(port, plainHead('GET', `http://${host}:${target.port}/`)));
    const tunnel = async (host: string) => statusOf(await talk(port, connectHead(`${host}:${target.port}`)));
    expect([await get(NAME), await get(OTHER), await tunnel(OTHER)]).toEqual([200, 403, 403]);
    expect({ asked, requests: target.seen.length }).toEqual({ asked: [NAME], requests: 1 });
  });
});
