import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { SecretGrant, WasmGrants } from '../../../src/core/wasm.ts';
import { GLOBAL } from '../../../src/vault/secret.ts';
import { callTool, GRACE, openTestGateway, PERMIT_ALL, recordsOf } from '../../fixture/gateway.ts';
import { guest, packed, wasmTool } from './guests.ts';

const VALUE = 'value-of-the-secret-6f1c';

/** A server that keeps what it was shown, and gives it back in its body when asked to. */
async function startServer() {
  const shown: (string | undefined)[] = [];
  const server = createServer((request, response) => {
    shown.push(request.headers.authorization);
    response.end(`served ${request.url}`);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  return { port: (server.address() as AddressInfo).port, shown };
}

/** Asks for a URL with the secret of a handle in a header, and returns the head of the answer as it comes. */
function asks(url: string, secret: number | null): Uint8Array<ArrayBuffer> {
  const wish =
    secret === null ? {} : { secret: { handle: secret, header: 'authorization', format: 'Bearer {}' } };
  const head = JSON.stringify({ url, ...wish });
  return guest(
    `(local.set $n (call $http_request (i32.const 10000) (i32.const 16) (i32.const ${head.length})
       (i32.const 0) (i32.const 0)))
     (if (i32.lt_s (local.get $n) (i32.const 0)) (then (return (call $print (local.get $n)))))
     (drop (call $result_read (i32.const 20000) (i32.const 30000)))
     ${packed('(i32.const 20004)', '(i32.load (i32.const 20000))')}`,
    [head],
  );
}

/** The secret, to be used with these hosts. */
const usable = (...hosts: string[]): SecretGrant => ({ name: 'api-key', mayReveal: false, hosts });

const READS = guest(
  `(local.set $n (call $secret_read (i32.const 20000)))
   (call $print (local.get $n))`,
);

async function open(module: Uint8Array, grants: Partial<WasmGrants>, toml = '') {
  const tools = [wasmTool('test.tool', module, grants)];
  const gateway = await openTestGateway({ policies: PERMIT_ALL, tools, toml });
  await gateway.vault.set('api-key', GLOBAL, Buffer.from(VALUE), GRACE);
  const call = async () => (await callTool(gateway, 'test.tool')).outcome;
  return { gateway, call };
}

describe('a secret that a module may use', () => {
  it('goes to the granted host in the header, and the guest never has it', async () => {
    const { port, shown } = await startServer();
    const grants = { http: [`127.0.0.1:${port}`], secrets: [usable(`127.0.0.1:${port}`)] };
    const { gateway, call } = await open(asks(`http://127.0.0.1:${port}/x`, 20_000), grants);
    const outcome = await call();
    expect(outcome).toMatchObject({ status: 'ok', output: { status: 200 } });
    expect(shown).toEqual([`Bearer ${VALUE}`]);
    expect(JSON.stringify(outcome)).not.toContain(VALUE);
    // It is in no file either, and its use is in the journal.
    const files = readdirSync(gateway.stateDir, { recursive: true, withFileTypes: true }).filter((each) =>
      each.isFile(),
    );
    for (const { parentPath, name } of files)
      expect(readFileSync(join(parentPath, name)).includes(VALUE), name).toBe(false);
    expect(recordsOf(gateway).map(({ kind }) => kind)).toContain('secret-used');
  });

  it.each<[string, string[], string]>([
    ['that its grant does not name', ['127.0.0.1:1', 'api.example.com'], ''],
    ['on another port than its grant names', ['127.0.0.1'], ''],
    ['when its grant names none', [], ''],
    ['when its grant cannot be read', ['PORT', 'no host at all'], ''],
    [
      'that the operator does not name',
      ['PORT'],
      '[[secret]]\nname = "api-key"\nvariable = "K"\nhosts = ["a.test"]',
    ],
  ])('goes to no host %s; nothing is sent, and no use is recorded', async (_, raw, toml) => {
    const { port, shown } = await startServer();
    const at = `127.0.0.1:${port}`;
    const hosts = raw.map((each) => (each === 'PORT' ? at : each));
    const module = asks(`http://${at}/x`, 20_000);
    const { gateway, call } = await open(module, { http: [at], secrets: [usable(...hosts)] }, toml);
    expect(await call()).toMatchObject({ output: -1 });
    expect(shown).toEqual([]);
    expect(recordsOf(gateway).map(({ kind }) => kind)).not.toContain('secret-used');
    // The same with the right host is sent.
    const both = toml.replace('a.test', at);
    const right = await open(module, { http: [at], secrets: [usable(at)] }, both);
    expect(await right.call()).toMatchObject({ output: { status: 200 } });
    expect(shown).toEqual([`Bearer ${VALUE}`]);
  });

  it('is taken for no port that anyone on the way can read, unless the entry names that port', async () => {
    const secrets = [usable('127.0.0.1:80')];
    const module = asks('http://127.0.0.1/x', 20_000);
    const kindsWith = async (entry: string) => {
      const { gateway, call } = await open(module, { http: [entry], secrets });
      const outcome = await call();
      return { outcome, kinds: recordsOf(gateway).map(({ kind }) => kind) };
    };
    const { outcome, kinds } = await kindsWith('127.0.0.1');
    expect(outcome).toMatchObject({ output: -1 });
    expect(kinds).not.toContain('secret-used');
    // Whether a server is there or not, the value is taken for it.
    expect((await kindsWith('127.0.0.1:80')).kinds).toContain('secret-used');
  });

  it('is not read by the guest, whose value a guest with the right to it does read', async () => {
    const used = await open(READS, { secrets: [usable()] });
    expect(await used.call()).toMatchObject({ output: -1 });
    const revealed = await open(READS, { secrets: [{ ...usable(), mayReveal: true }] });
    expect(await revealed.call()).toMatchObject({ output: VALUE.length % 10 });
  });

  it('that is not in the vault is missing', async () => {
    const { call } = await open(READS, { secrets: [{ ...usable(), name: 'other-key', mayReveal: true }] });
    expect(await call()).toMatchObject({ output: -2 });
  });

  it('of a handle that the call does not have is denied, and nothing is sent', async () => {
    const { port, shown } = await startServer();
    const { call } = await open(asks(`http://127.0.0.1:${port}/x`, 20_001), {
      http: [`127.0.0.1:${port}`],
      secrets: [usable(`127.0.0.1:${port}`)],
    });
    expect(await call()).toMatchObject({ output: -1 });
    expect(shown).toEqual([]);
  });
});

describe('a request of a module', () => {
  it('goes to the host of its handle and to no other', async () => {
    const [granted, other] = [await startServer(), await startServer()];
    const allowed = await open(asks(`http://127.0.0.1:${granted.port}/a`, null), {
      http: [`127.0.0.1:${granted.port}`],
    });
    expect(await allowed.call()).toMatchObject({ output: { status: 200 } });
    const denied = await open(asks(`http://127.0.0.1:${other.port}/a`, null), {
      http: [`127.0.0.1:${granted.port}`],
    });
    expect(await denied.call()).toMatchObject({ output: -1 });
    expect([granted.shown.length, other.shown.length]).toEqual([1, 0]);
  });
});
