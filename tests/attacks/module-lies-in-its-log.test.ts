import { describe, expect, test } from 'vitest';
import { ALL_SCOPES } from '../../packages/gateway/src/core/caller.ts';
import { search } from '../../packages/gateway/src/journal/search.ts';
import { readLog } from '../../packages/gateway/src/results/call-logs.ts';
import { GLOBAL } from '../../packages/gateway/src/vault/secret.ts';
import { bearer, JSON_BODY } from '../../packages/gateway/test/doors/http/open-door.ts';
import { openTestDaemon } from '../fixtures/door/daemon.ts';
import { guest, listOf } from '../fixtures/modules/guest.ts';
import { sharedModules } from '../fixtures/modules/index.ts';
import { moduleTool } from '../fixtures/modules/tool.ts';

/*
 * What a guest logs, what it is denied and what it calls its functions is kept and shown to people. It floods the log,
 * logs the secret that it was given, hides it in the name of a key, writes for the terminal, and goes by other names.
 */

const VALUE = 'canary-7Hq2mZ9xW4-of-the-vault';
const FLOOD = 100_000;

const logs = (text: string) =>
  guest(({ bytes }) => `(call $log (i32.const 1) ${bytes(text)}) ${listOf('(i32.const 1)')}`);
const floods = (length: number) =>
  guest(
    `(loop $again (call $log (i32.const 1) (i32.const 1024) (i32.const ${length}))
      (local.set $n (i32.add (local.get $n) (i32.const 1)))
      (br_if $again (i32.lt_u (local.get $n) (i32.const ${FLOOD})))) ${listOf('(i32.const 1)')}`,
  );
/** Reads the secret into its memory, and does this with what is there. */
const reveals = (then: string) =>
  guest(
    `(local.set $n (call $secret_read (i32.const 20000)))
     (drop (call $result_read (i32.const 300000) (i32.const 1000))) ${then} ${listOf('(local.get $n)')}`,
  );

/** A request to a host, with or without a secret; what it is denied for does not need a network. */
const requests = (url: string, secret?: number) =>
  guest(({ bytes }) => {
    const wish = secret === undefined ? {} : { secret: { handle: secret, header: 'X-Key', format: '{}' } };
    const head = JSON.stringify({ url, ...wish });
    return listOf(`(call $http_request (i32.const 10000) ${bytes(head)} (i32.const 0) (i32.const 0))`);
  });
const API = { http: ['https://api.example.com/v1/', 'other.example.com:443'] };
const SENT = [{ name: 'canary', mayReveal: false, hosts: ['api.example.com'] }];
const KEY = 'https://elsewhere.example/?key=canary';

/** What a guest tries, under which grants, and what is written down of it. */
const DENIED: readonly (readonly [why: string, bytes: Uint8Array, given: object, argument: string | null])[] =
  [
    ['host-not-allowed', requests(KEY), API, 'elsewhere.example:443'],
    ['withheld', requests('https://api.example.com/'), { http: [null] }, 'api.example.com:443'],
    [
      'secret-not-for-host',
      requests('https://other.example.com/', 20_000),
      { http: ['other.example.com:443'], secrets: SENT },
      'canary to other.example.com:443',
    ],
    ['unknown-handle', requests('https://api.example.com/v1/', 20_009), { ...API, secrets: SENT }, '20009'],
    [
      'secret-not-readable',
      guest(listOf('(call $secret_read (i32.const 20000))')),
      { secrets: SENT },
      'canary',
    ],
    ['unknown-handle', guest(listOf('(call $secret_read (i32.const 29999))')), { secrets: SENT }, '29999'],
  ];

const grants = { log: true };
const secrets = [{ name: 'canary', mayReveal: true, hosts: [] }];
const storage = [{ read: ['notes/'], write: [] }];
const { call, opened } = sharedModules(() => ({
  tools: [
    ...DENIED.map(([, bytes, given], index) => moduleTool(`test.denied-${index}`, bytes, { grants: given })),
    moduleTool('test.logs', logs('all is well'), { grants }),
    moduleTool('test.terminal', logs('a\u001b]0;owned\u0007\r\nok  call_0\u202e\u2028b'), { grants }),
    moduleTool('test.floods', floods(64), { grants, limits: { fuel: 100_000_000 } }),
    moduleTool('test.empty', floods(0), { grants, limits: { fuel: 100_000_000 } }),
    moduleTool('test.reveals', reveals('(call $log (i32.const 1) (i32.const 300000) (local.get $n))'), {
      grants: { ...grants, secrets },
    }),
    moduleTool(
      'test.hides',
      reveals(
        '(drop (call $storage_put (i32.const 30000) (i32.const 300000) (local.get $n) (i32.const 1024) (i32.const 0) (f64.const -1)))',
      ),
      { grants: { secrets, storage } },
    ),
    moduleTool(
      'test.denied',
      guest(({ bytes }) =>
        listOf(`(call $storage_put (i32.const 30000) ${bytes('notes/"a')} ${bytes('1')} (f64.const -1))`),
      ),
      { grants: { storage } },
    ),
  ],
}));

const keptOf = async (tool: string) => {
  const ended = await call(tool);
  return { ended, log: readLog(opened().gateway.store, ended.callId) };
};

/** Everything that is recorded of a call. */
function recorded(callId: string): string {
  const { records } = search(
    opened().gateway.segments,
    { call: callId },
    { newestFirst: true, limit: 16, cursor: null },
  );
  return records.map(({ line }) => line).join('\n');
}

describe('a guest that logs', () => {
  test('is read as it wrote', async () => {
    const { log } = await keptOf('test.logs');
    expect(log).toMatchObject({ lines: [{ level: 'info', text: 'all is well' }], isCut: false });
  });

  test('for a terminal is read as text on one line', async () => {
    const { log } = await keptOf('test.terminal');
    expect(log?.lines).toHaveLength(1);
    expect(log?.lines[0]?.text).toBe('a\\u{1b}]0;owned\\u{7}\\u{d}\\u{a}ok  call_0\\u{202e}\\u{2028}b');
  });

  test.each(['test.floods', 'test.empty'])('without end is cut, by bytes and by lines: %s', async (tool) => {
    const { ended, log } = await keptOf(tool);
    expect(ended.code).toBe('ok');
    expect(log?.isCut).toBe(true);
    expect(log?.lines.length).toBeGreaterThan(100);
    expect(log?.lines.length).toBeLessThanOrEqual(1_000);
    expect(JSON.stringify(log).length).toBeLessThan(200_000);
    expect(recorded(ended.callId).length).toBeLessThan(20_000);
  });

  test('the secret that it was given is not kept with it, in the log or in the name of a key', async () => {
    const { vault } = opened().gateway;
    await vault.set('canary', GLOBAL, Buffer.from(VALUE), { kind: 'user', name: 'olga' });
    const { ended, log } = await keptOf('test.reveals');
    // The guest did get it.
    expect(ended.output).toEqual([VALUE.length]);
    expect(ended.log).toContain(VALUE);
    expect(log?.lines).toEqual([{ level: 'info', text: '[secret canary]' }]);
    const hiding = await keptOf('test.hides');
    expect(hiding.log?.denied).toMatchObject([{ function: 'storage_put', argument: null }]);
    for (const { callId } of [ended, hiding.ended]) expect(recorded(callId)).not.toContain(VALUE);
  });
});

describe('a guest that is denied', () => {
  test('has the function, the quoted argument, the reason and the remedy in its log and in the journal', async () => {
    const { ended, log } = await keptOf('test.denied');
    const denial = { function: 'storage_put', argument: 'notes/"a', why: 'read-only', times: 1 };
    expect(log?.denied).toMatchObject([denial]);
    const body = JSON.parse(recorded(ended.callId).split('\n')[0] ?? '').body;
    expect(body.denied).toMatchObject([denial]);
    expect(body.denied[0].remedy).not.toBe('');
  });
});

describe('a host call that is denied', () => {
  test.each(DENIED.map(([why, , , argument], index) => [why, index, argument] as const))(
    'says why: %s (%i)',
    async (why, index, argument) => {
      const { ended, log } = await keptOf(`test.denied-${index}`);
      expect(ended.output).toEqual([-1]);
      expect(log?.denied).toMatchObject([{ why, argument, times: 1 }]);
      // Addresses may contain keys, so no more of one than the host is recorded.
      expect(recorded(ended.callId)).not.toContain('?key=');
    },
  );
});

describe('the log of a call of another tenant', () => {
  test('does not exist for every other caller, whatever scopes it has', async () => {
    const policies = '@id("all") permit(principal, action, resource);';
    const daemon = await openTestDaemon({
      policies,
      tools: [moduleTool('test.logs', logs('canary'), { grants })],
    });
    const owner = await daemon.token({ principal: 'user:ada', scopes: ALL_SCOPES });
    const thief = await daemon.token({ principal: 'user:ada', scopes: ALL_SCOPES, tenant: 'acme' });
    const body = JSON.stringify({ tool: 'test.logs', input: {} });
    const made = await daemon.ask('/v1/calls', {
      ...{ method: 'POST', headers: { ...bearer(owner), ...JSON_BODY }, body },
    });
    const address = `/v1/calls/${made.json.callId}/log`;
    const mine = await daemon.ask(address, { headers: bearer(owner) });
    expect([mine.status, mine.json.lines]).toEqual([200, [{ level: 'info', text: 'canary' }]]);
    const theirs = await daemon.ask(address, { headers: bearer(thief) });
    expect(theirs.status).toBe(404);
    expect(theirs.text).not.toContain('canary');
    expect((await daemon.ask(address)).status).toBe(401);
  });
});
