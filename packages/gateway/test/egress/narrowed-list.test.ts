/** A call's own list of hosts narrows what the operator allows, in a decision, in a fetch and in the proxy. */
import { describe, expect, it } from 'vitest';
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
