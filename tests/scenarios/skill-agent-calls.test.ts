import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { PALISADE, scratch } from '../fixtures/cli.ts';
import { assemble } from '../fixtures/modules/assemble.ts';
import { guest, listOf } from '../fixtures/modules/guest.ts';
import { palisade } from '../fixtures/skills/commands.ts';
import { KEEPER, KEEPS, PLAIN, sampleFiles } from '../fixtures/skills/sample.ts';

/*
 * An operator installs a skill with the policies that a state directory begins with, and an agent calls its tools over
 * `palisade mcp`: those that only compute at once, one that stores after one step of the operator. What the guest says,
 * what it is denied and where it traps reach both of them.
 */

const folder = scratch();
const STATE = ['--state', join(folder, 'state')];
const REASON = ['--yes', '--reason', 'looked at it'];

/** Logs a line that a terminal would obey and that looks like two. */
const NOISY = {
  bytes: guest(
    ({ bytes }) =>
      `(call $log (i32.const 1) ${bytes('half way\n\u001b[31mok  call_0123')}) (call $log (i32.const 2) ${bytes('done')}) ${listOf('(i32.const 7)')}`,
  ),
};
/** Writes where it may only read. */
const DENIED = {
  bytes: guest(({ bytes }) =>
    listOf(`(call $storage_put (i32.const 30000) ${bytes('elsewhere/a')} ${bytes('1')} (f64.const -1))`),
  ),
};
/** Asks for a page of a host that it was not granted, with what it needs for one that it was. */
const HEAD = JSON.stringify({ method: 'GET', url: 'https://elsewhere.example/', headers: [] });
const SENDER = {
  bytes: guest(({ bytes }) => listOf(`(call $http_request (i32.const 10000) ${bytes(HEAD)} ${bytes('')})`)),
  risk: 'medium',
};
const SENDS = `http_egress_allowlist = ["api.example.com:443"]
[[capabilities.secrets]]
scope = "skill"
keys = ["token"]
use = "send"
hosts = ["api.example.com"]
`;

/** Traps two calls deep. */
const BROKEN = {
  bytes: assemble(
    `(module (memory (export "memory") 1) (func $read_length (unreachable)) (func $parse_header (call $read_length))
      (func (export "palisade_alloc") (param i32) (result i32) (i32.const 16))
      (func (export "tool") (param i32 i32) (result i64) (call $parse_header) (i64.const 0)))`,
    { withNames: true },
  ),
};

const PATIENCE = { timeout: 10_000 };

let client: Client;
let offer: string;

async function ok(...words: readonly string[]): Promise<{ out: string; err: string }> {
  const finished = await palisade(words);
  expect(finished, words.join(' ')).toMatchObject({ status: 0 });
  return finished;
}

type Result = {
  readonly isError?: boolean;
  readonly structuredContent: Readonly<Record<string, unknown>>;
  readonly _meta: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
};

async function call(tool: string): Promise<Result> {
  return (await client.callTool({ name: `acme.sample.${tool}`, arguments: {} })) as unknown as Result;
}

beforeAll(async () => {
  const place = join(folder, 'sample');
  const tools = {
    plain: PLAIN,
    keep: KEEPER,
    send: SENDER,
    noisy: NOISY,
    denied: DENIED,
    broken: BROKEN,
    torn: BROKEN,
  };
  mkdirSync(join(folder, 'state'), { mode: 0o700 });
  writeFileSync(join(folder, 'state', 'palisade.toml'), '[skills]\nfail_after_traps = 2\n', { mode: 0o600 });
  for (const [path, bytes] of sampleFiles({ tools, capabilities: `log = true\n${SENDS}${KEEPS}` })) {
    mkdirSync(dirname(join(place, path)), { recursive: true });
    writeFileSync(join(place, path), bytes);
  }
  const [file, key] = [join(folder, 'sample.skill'), join(folder, 'acme.key')];
  await ok('skill', 'pack', place, '--out', file);
  await ok('skill', 'sign', file, '--key', key, '--new-key');
  await ok('trust', 'add', 'acme', `${key}.pub.json`, '--yes', ...STATE);
  await ok('skill', 'install', file, ...STATE);
  await palisade(['secrets', 'set', 'token', '--scope', 'skill:acme.sample', ...STATE], {
    stdin: 'a-token-of-the-api',
  });
  const approved = await ok('skill', 'approve', 'acme.sample', '--accept-findings', ...REASON, ...STATE);
  offer = approved.out;
  client = new Client({ name: 'agent', version: '1' });
  const args = [PALISADE, 'mcp', '--as', 'agent:ada', ...STATE];
  await client.connect(new StdioClientTransport({ command: process.execPath, args, stderr: 'pipe' }));
}, 120_000);

afterAll(() => client?.close());

const codeOf = ({ _meta }: Result) => _meta['dev.palisade/receipt']?.code;
const idOf = ({ _meta }: Result) => String(_meta['dev.palisade/receipt']?.callId);

async function logOf(result: Result): Promise<string> {
  return (await ok('log', idOf(result), ...STATE)).out;
}

test('the operator is shown what each tool can do before the approval, and later', async () => {
  for (const text of [offer, (await ok('skill', 'show', 'acme.sample', ...STATE)).out]) {
    expect(text).toMatch(/plain\W+risk low; only computes/);
    expect(text).toMatch(/keep\W+risk medium; uses storage/);
    expect(text).toMatch(/denied\W+risk medium, because of the grant .*; uses storage/);
  }
  const audited = await ok('skill', 'audit', 'acme.sample', ...STATE);
  expect(audited.out).toContain('keep.wasm  storage_put');
});

test('an agent calls what only computes with the starter policies, and is asked about what stores', async () => {
  const plain = await call('plain');
  expect([codeOf(plain), plain.structuredContent]).toEqual(['ok', { result: [1, 2] }]);
  expect(codeOf(await call('keep'))).toBe('policy/approval-required');

  const { out } = await ok('skill', 'allow', 'acme.sample', '--to', 'agent:ada', '--yes', ...STATE);
  expect(out).toContain('Agent::"ada"');
  expect(out).not.toContain('acme.sample.plain"');
  await vi.waitFor(async () => expect(codeOf(await call('keep'))).toBe('ok'), PATIENCE);
  await ok('skill', 'allow', 'acme.sample', '--remove', ...STATE);
  await vi.waitFor(async () => expect(codeOf(await call('keep'))).toBe('policy/approval-required'), PATIENCE);
});

test('an agent is asked about what sends a secret, until the operator allows the skill', async () => {
  expect(codeOf(await call('send'))).toBe('policy/approval-required');

  await ok('skill', 'allow', 'acme.sample', '--to', 'agent:ada', '--yes', ...STATE);
  await vi.waitFor(async () => expect(codeOf(await call('send'))).toBe('ok'), PATIENCE);
  const sent = await call('send');
  expect(sent.structuredContent).toEqual({ result: [-1] });
  expect(await logOf(sent)).toMatch(/^denied: http_request .*elsewhere\.example/);
  await ok('skill', 'allow', 'acme.sample', '--remove', ...STATE);
});

test('what the guest logs reaches the agent beside the result, and the operator', async () => {
  const noisy = await call('noisy');
  const lines = [
    { level: 'info', text: 'half way\\u{a}\\u{1b}[31mok  call_0123' },
    { level: 'warning', text: 'done' },
  ];
  expect(noisy._meta['dev.palisade/log']).toMatchObject({ lines, isCut: false });
  const { contents } = await client.readResource({ uri: `palisade://calls/${idOf(noisy)}/log` });
  expect(JSON.parse((contents[0] as { text: string }).text)).toMatchObject({ lines });
  expect(await logOf(noisy)).toBe(lines.map(({ level, text }) => `${level}: ${text}\n`).join(''));
  const called = await ok('call', 'acme.sample.noisy', ...STATE);
  expect(called.err).toContain('info: half way\\u{a}');
  expect(called.out).not.toContain('half way');
  const { out } = await ok('call', 'acme.sample.noisy', '--json', ...STATE);
  expect(JSON.parse(out)).toMatchObject({ code: 'ok', log: { lines } });
});

test('a trap names the functions of the module, and a denial its reason and remedy, at every door', async () => {
  const broken = await call('broken');
  expect(codeOf(broken)).toBe('tier/trapped');
  expect(JSON.stringify(broken.structuredContent)).toMatch(
    /in \\+"read_length\\+" \(function \d+\), called by/,
  );
  expect(await logOf(broken)).toMatch(/^trapped in "read_length" \(function \d+\), called by "parse_header"/);

  const denied = await ok('call', 'acme.sample.denied', '--as', 'user:root', ...STATE);
  expect(denied.err).toContain('denied: storage_put "elsewhere/a": No prefix');
  expect(denied.err).toContain('palisade skill show acme.sample');
});

test('a skill that traps on every input is taken away from the agent, and comes back when the operator enables it', async () => {
  expect([codeOf(await call('broken')), codeOf(await call('torn'))]).toEqual([
    'tier/trapped',
    'tier/trapped',
  ]);
  const names = async () => (await client.listTools()).tools.map(({ name }) => name);
  await vi.waitFor(async () => expect(await names()).not.toContain('acme__sample__plain'), PATIENCE);
  const refused = await palisade(['call', 'acme.sample.plain', ...STATE]);
  expect(refused.err).toContain('skill/failed');
  expect(refused.err).toContain('palisade skill enable');
  const { out } = await ok('skill', 'show', 'acme.sample', ...STATE);
  const [callId = ''] = /call_[0-9a-z]{25}/.exec(out) ?? [];
  expect((await ok('log', callId, ...STATE)).out).toContain('trapped in "read_length"');
  await ok('skill', 'enable', 'acme.sample', ...STATE);
  await vi.waitFor(async () => expect(codeOf(await call('plain'))).toBe('ok'), PATIENCE);
});
