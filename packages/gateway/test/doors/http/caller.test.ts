import { describe, expect, test } from 'vitest';
import { loadConfig } from '../../../src/config/load.ts';
import { makeOriginCheck } from '../../../src/doors/http/caller.ts';
import { tempDir } from '../../fixture/temp-dir.ts';
import { bearer, JSON_BODY, openTestDoor } from './open-door.ts';

const ECHO = { method: 'POST', body: '{"message":"hi"}' };
const AUTH = { ...JSON_BODY, ...bearer('call') };
const TOML = `[http]
allowed_hosts = ["gate.example.com"]
allowed_origins = ["https://console.example.com"]
public_url = "https://front.example.com/"
`;

describe('a request for another host', () => {
  test.each([
    'evil.example',
    'localhost.evil.example',
    '127.0.0.1.evil.example',
    'localhost@evil',
    '[::1',
    '10.0.0.1',
  ])('is refused: %j', async (host) => {
    const { ask, seen } = await openTestDoor({ toml: TOML });
    const { status, json } = await ask('/t/echo', { ...ECHO, headers: { ...AUTH, host } });
    expect([status, json.code]).toEqual([403, 'door/forbidden-origin']);
    expect((await ask('/healthz', { headers: { host } })).status).toBe(403);
    expect(seen.names).toEqual([]);
  });

  test('is told from one for a name of ours', async () => {
    const { ask, port } = await openTestDoor({ toml: TOML });
    const names = [
      `127.0.0.1:${port}`,
      'LOCALHOST',
      '[::1]:80',
      'gate.example.com:8443',
      'front.example.com',
    ];
    for (const host of names) expect((await ask('/healthz', { headers: { host } })).status).toBe(200);
  });

  test('is told from one for the address that it came to, where the door listens on all', async () => {
    const { http } = await loadConfig({ stateDir: tempDir() });
    const check = makeOriginCheck(http, { host: '0.0.0.0' });
    const ask = (host: string) => () => check({ host, origin: undefined }, '::ffff:192.168.1.7');
    expect(ask('192.168.1.7:7433')).not.toThrow();
    expect(ask('192.168.1.8:7433')).toThrow('is not a name of this gateway');
  });
});

describe('a request of a web page', () => {
  test.each([
    'https://evil.example',
    'null',
    'http://localhost',
    'https://console.example.com.evil.example',
    'file://',
  ])('is refused where the page is %s', async (origin) => {
    const { ask, seen } = await openTestDoor({ toml: TOML });
    const answer = await ask('/t/echo', { ...ECHO, headers: { ...AUTH, origin } });
    expect([answer.status, answer.json.code]).toEqual([403, 'door/forbidden-origin']);
    expect(answer.headers).not.toHaveProperty('access-control-allow-origin');
    const preflight = { origin, 'access-control-request-method': 'POST' };
    expect((await ask('/t/echo', { method: 'OPTIONS', headers: preflight })).status).toBe(403);
    expect(seen.names).toEqual([]);
  });

  test('is answered for our own page and for one that the operator named', async () => {
    const { ask, port } = await openTestDoor({ toml: TOML });
    const own = { ...AUTH, host: `localhost:${port}`, origin: `http://localhost:${port}` };
    expect((await ask('/t/echo', { ...ECHO, headers: own })).status).toBe(200);
    const named = { origin: 'https://console.example.com' };
    const preflight = await ask('/t/echo', { method: 'OPTIONS', headers: named });
    expect(preflight.headers).toMatchObject({
      'access-control-allow-origin': named.origin,
      'access-control-allow-methods': 'POST',
    });
    const answer = await ask('/t/echo', { ...ECHO, headers: { ...AUTH, ...named } });
    expect([answer.status, answer.headers['access-control-allow-origin']]).toEqual([200, named.origin]);
    expect(answer.headers).not.toHaveProperty('access-control-allow-credentials');
    const refused = await ask('/t/echo', { ...ECHO, headers: { ...JSON_BODY, ...named } });
    expect([refused.status, refused.headers['access-control-allow-origin']]).toEqual([401, named.origin]);
  });
});
