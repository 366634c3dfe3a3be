import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openRecords, systemClock, systemRandom } from '../../../src/open.ts';
import { guest, packed } from '../../tiers/a-wasm/guests.ts';
import { runInside } from './fake-edge.ts';
import { holdGateways } from './held-gateways.ts';
import { makeScratch, useBuild } from './palisade.ts';
import { ECHO_MANIFEST, writeSkill } from './skill-fixture.ts';

/* Fixtures answer the requests of test cases, and of nothing else: a server counts what really arrives. */

useBuild();
const scratch = makeScratch();
const { open: openGateway, close } = holdGateways();
afterAll(close);
const palisade = (...words: string[]) =>
  runInside([...words, '--state', join(scratch, 'state')], {
    ...{ clock: systemClock, random: systemRandom, cwd: scratch, openGateway, openRecords },
  });

let hits = 0;
const server = createServer((_, response) => {
  hits += 1;
  response.end('{"from":"network"}');
});
let site = '';
beforeAll(async () => {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  site = `127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(() => server.close());

/** Makes one request, and gives the body of the answer or the error. */
function requester(head: object): Uint8Array {
  const text = JSON.stringify(head);
  const body = packed(
    '(i32.add (i32.const 70004) (i32.load (i32.const 70000)))',
    '(i32.sub (local.get $n) (i32.add (i32.const 4) (i32.load (i32.const 70000))))',
  );
  return guest(
    `(local.set $n (call $http_request (call $capability_handle (i32.const 1) (i32.const 0))
       (i32.const 16) (i32.const ${text.length}) (i32.const 0) (i32.const 0)))
     (if (result i64) (i32.lt_s (local.get $n) (i32.const 0)) (then (call $print (local.get $n)))
       (else (drop (call $result_read (i32.const 70000) (local.get $n))) ${body}))`,
    [text],
  );
}

const asking = (capabilities: string) =>
  `${ECHO_MANIFEST.replace('output_schema = "schemas/any.json"', 'output_schema = {}')}\n[capabilities]\n${capabilities}\n`;
const casesOf = (...cases: object[]) => JSON.stringify({ cases });
const fixturesOf = (...fixtures: object[]) => JSON.stringify({ fixtures });
const NEEDY = { name: 'asks', tool: 'echo', input: {}, needs: ['http'] };

describe('fixtures of a skill', () => {
  test('answer its cases without a network, and never a real call', async () => {
    const url = `http://${site}/v1`;
    writeSkill(join(scratch, 'real'), {
      'skill.toml': asking(`http_egress_allowlist = ["${site}"]`),
      'echo.wasm': requester({ url }),
      'fixtures/http.json': fixturesOf({ request: { url }, response: { body: { from: 'fixture' } } }),
      'tests/echo.json': casesOf({ ...NEEDY, output: { from: 'fixture' } }),
    });
    const { status, out } = await palisade('skill', 'test', 'real', '--json');
    const { cases, ...tested } = JSON.parse(out);
    expect(tested).toMatchObject({ passed: 1, failed: 0, notRun: 0 });
    expect(status).toBe(0);
    expect(hits).toBe(0);

    const receipt = (await palisade('receipt', cases[0].callId, '--decode', '--json')).out;
    expect(receipt).toContain('"requestsAnsweredByFixtures":1');
    expect(receipt).toContain('"egressBytes":0');
    expect(receipt).not.toMatch(/egressRecord|"egress[_.]|"network/);

    await palisade('skill', 'pack', 'real', '--out', 'real.skill');
    await palisade('skill', 'sign', 'real.skill', '--key', 'real.key', '--new-key');
    await palisade('trust', 'add', 'acme', join(scratch, 'real.key.pub.json'), '--yes');
    const installed = await palisade('skill', 'install', 'real.skill', '--json');
    // An audit gives no capability, and fixtures are none of its business.
    expect(JSON.parse(installed.out).skill.report.cases).toEqual({ passed: 0, failed: 0, notRun: 1 });
    const flags = ['--yes', '--reason', 'a test', '--accept-findings'];
    expect((await palisade('skill', 'approve', 'acme.echo', ...flags)).status).toBe(0);
    const called = await palisade('call', 'acme.echo.echo', '--input', '{}', '--json', '--embedded');
    expect(JSON.parse(called.out)).toMatchObject({ output: { from: 'network' } });
    expect(hits).toBe(1);
    const real = (await palisade('receipt', JSON.parse(called.out).callId, '--decode', '--json')).out;
    expect(real).not.toContain('requestsAnsweredByFixtures');
    expect(real).toContain('egressRecord');
  });

  test('show a secret as its name, and only where it may be sent', async () => {
    const secret = { handle: 20_000, header: 'authorization', format: 'Bearer {}' };
    const asks = (host: string) =>
      asking(
        `http_egress_allowlist = ["api.example.com", "other.example.com"]\n[[capabilities.secrets]]\nscope = "skill"\nkeys = ["token"]\nuse = "send"\nhosts = ["${host}"]`,
      );
    const url = 'https://api.example.com/v1';
    const headers = { authorization: 'Bearer [secret token]' };
    const files = {
      'echo.wasm': requester({ url, secret }),
      'fixtures/http.json': fixturesOf({ request: { url, headers }, response: { body: 1 } }),
      'tests/echo.json': casesOf({ ...NEEDY, needs: ['http', 'secret'], output: 1 }),
    };
    writeSkill(join(scratch, 'secret'), { ...files, 'skill.toml': asks('api.example.com') });
    expect((await palisade('skill', 'test', 'secret')).out).toContain('1 passed');
    writeSkill(join(scratch, 'denied'), { ...files, 'skill.toml': asks('other.example.com') });
    expect((await palisade('skill', 'test', 'denied')).out).toContain('it gave -1, expected 1');
  });

  test('hold requests to the allow-list of the manifest', async () => {
    const url = 'https://elsewhere.example.com/v1';
    writeSkill(join(scratch, 'outside'), {
      'skill.toml': asking('http_egress_allowlist = ["api.example.com"]'),
      'echo.wasm': requester({ url }),
      'fixtures/http.json': fixturesOf({ request: { url }, response: { body: 1 } }),
      'tests/echo.json': casesOf({ ...NEEDY, output: 1 }),
    });
    expect((await palisade('skill', 'test', 'outside')).out).toContain('it gave -1, expected 1');
  });

  test('are given to the cases that need http alone, and a case without fixtures is not run', async () => {
    const url = 'https://api.example.com/v1';
    const { needs: _, ...plain } = NEEDY;
    const files = {
      'skill.toml': asking('http_egress_allowlist = ["api.example.com"]'),
      'echo.wasm': requester({ url }),
      'tests/echo.json': casesOf({ ...plain, name: 'is denied', output: -1 }, { ...NEEDY, output: 1 }),
    };
    writeSkill(join(scratch, 'both'), {
      ...files,
      'fixtures/http.json': fixturesOf({ request: { url }, response: { body: 1 } }),
    });
    expect((await palisade('skill', 'test', 'both')).out).toContain('2 passed, 0 not run');
    writeSkill(join(scratch, 'without'), files);
    const without = await palisade('skill', 'test', 'without');
    expect(without.out).toContain('not run: it needs http');
    expect(without.err).toMatch(/^→ Add fixtures\/http\.json with the answers/);
  });

  test('that cannot be read are a problem with its place, for the check and for the tests', async () => {
    writeSkill(join(scratch, 'unread'), { 'fixtures/http.json': '{"fixtures": [\n{"request": {}}]}' });
    const checked = await palisade('skill', 'check', 'unread');
    expect(checked.out).toMatch(/^fixtures\/http\.json:2:\d+: Cannot use .*request.*url/m);
    expect(checked.status).not.toBe(0);
    const tested = await palisade('skill', 'test', 'unread');
    expect(tested.err).toContain('Cannot read the fixtures of acme.echo');
    expect(tested.err).toContain('palisade skill check');
    expect(tested.status).not.toBe(0);
  });
});
