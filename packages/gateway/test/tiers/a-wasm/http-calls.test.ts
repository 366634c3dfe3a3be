import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { Limits } from '../../../src/core/limits.ts';
import { findRecording } from '../../../src/recordings/recordings.ts';
import { GLOBAL } from '../../../src/vault/secret.ts';
import { callTool, GRACE, openTestGateway, PERMIT_ALL } from '../../fixture/gateway.ts';
import { guest, wasmTool } from './guests.ts';

const VALUE = 'value-of-the-secret-6f1c';
const SECRET = { secret: { handle: 20_000, header: 'authorization', format: 'Bearer {}' } };

async function startServer(onRequest: RequestListener): Promise<number> {
  const server = createServer(onRequest).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

/** A call of a guest that makes one request with the secret that it was granted. */
async function request(port: number, mayReveal: boolean, limits: Partial<Limits> = {}) {
  const head = JSON.stringify({ url: `http://127.0.0.1:${port}/x`, ...SECRET });
  const asks = guest(
    `(drop (call $http_request (i32.const 10000) (i32.const 16) (i32.const ${head.length})
       (i32.const 0) (i32.const 0)))
     (call $print (i32.const 1))`,
    [head],
  );
  const at = `127.0.0.1:${port}`;
  const grants = { http: [at], secrets: [{ name: 'api-key', mayReveal, hosts: [at] }] };
  const tools = [wasmTool('test.tool', asks, grants, limits)];
  const gateway = await openTestGateway({ policies: PERMIT_ALL, tools });
  await gateway.vault.set('api-key', GLOBAL, Buffer.from(VALUE), GRACE);
  const { outcome, callId } = await callTool(gateway, 'test.tool');
  return { outcome, recorded: findRecording(gateway.store, callId) };
}

describe('a request of a guest', () => {
  it('is counted as far as it came when the time of its call is over', async () => {
    const port = await startServer((_request, response) => {
      response.writeHead(200, { 'content-length': 5_000_000 });
      response.write(Buffer.alloc(1_000_000));
    });
    const { outcome } = await request(port, false, { wallMs: 3_000 });
    expect(outcome).toMatchObject({ code: 'tier/timed-out' });
    expect('usage' in outcome ? outcome.usage.egressBytes : 0).toBeGreaterThan(1_000_000);
  });

  it('whose answer repeats a secret leaves no value in a recording', async () => {
    const port = await startServer(({ headers }, response) => {
      response.end(`you sent ${headers.authorization}`);
    });
    const used = await request(port, false);
    expect(used.outcome).toMatchObject({ status: 'ok' });
    const [exchange] = used.recorded?.recording.exchanges ?? [];
    const answer = Buffer.from(exchange?.bytes ?? '', 'base64').toString();
    expect(answer).toContain('you sent');
    expect(answer).not.toContain(VALUE);
    // A guest that may know the value is told it; then nothing is kept.
    const revealed = await request(port, true);
    expect(revealed.outcome).toMatchObject({ status: 'ok' });
    expect(revealed.recorded).toBeNull();
  });
});
