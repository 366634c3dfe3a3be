import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { ALL_SCOPES } from '../../packages/gateway/src/core/caller.ts';
import { bearer, JSON_BODY, sendBytes } from '../../packages/gateway/test/doors/http/open-door.ts';
import { makeTool, PERMIT_ALL, recordsOf } from '../../packages/gateway/test/fixture/gateway.ts';
import { openTestDaemon } from '../fixtures/door/daemon.ts';
import { callMcp, openSession } from '../fixtures/door/mcp.ts';

/* Somebody reads everything that a gateway writes or says, for a token that was used with it. */

const DEBUG = '[log]\nlevel = "debug"\n';

function filesBelow(directory: string): string[] {
  return readdirSync(directory, { withFileTypes: true, recursive: true })
    .filter((each) => each.isFile())
    .map((each) => join(each.parentPath, each.name));
}

describe('a token', () => {
  test('is in no log, record, metric, file or answer, wherever its owner put it by mistake', async () => {
    const daemon = await openTestDaemon({
      policies: PERMIT_ALL,
      tools: [makeTool('test.any', async () => ({}))],
      toml: DEBUG,
    });
    const token = await daemon.token({ principal: 'user:grace', scopes: ALL_SCOPES });
    const secret = token.split('_').slice(2).join('_');
    const received: string[] = [];
    const hear = async (path: string, how = {}) => received.push((await daemon.ask(path, how)).text);
    await daemon.call(token, 'test.any');
    await callMcp(daemon, token, 'test.any');
    await openSession(daemon, token);
    await hear(`/v1/whoami?access_token=${token}`, { headers: bearer(token) });
    await hear(`/v1/whoami`, { headers: bearer(`${token}x`) });
    await hear(`/v1/whoami`, { headers: { authorization: token } });
    await hear(`/${token}`);
    await hear(`/v1/tokens/${token}`, { method: 'DELETE', headers: bearer(token) });
    await hear('/v1/tokens', { headers: bearer(token) });
    await hear('/v1/tokens', {
      method: 'POST',
      headers: { ...bearer(token), ...JSON_BODY },
      body: JSON.stringify({ principal: 'agent:x', label: token }),
    });
    await hear('/v1/whoami', { headers: { ...bearer(token), origin: `http://${token}` } });
    await hear('/v1/journal?limit=1000', { headers: bearer(token) });
    await hear('/metrics', { headers: bearer(token) });
    await hear('/readyz');
    received.push(
      await sendBytes(
        daemon.port,
        `GET /v1/whoami HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer ${token}\r\nauthorization: Bearer ${token}\r\n\r\n`,
        'half-close',
      ),
    );
    received.push(await sendBytes(daemon.port, `BAD ${token}\r\n\r\n`, 'half-close'));
    // The one who sent it may see what they sent; nobody else does.
    expect(received.slice(9).filter((text) => text.includes(secret))).toEqual([]);
    expect(daemon.logged.filter((line) => line.includes(secret))).toEqual([]);
    expect(daemon.logged.filter((line) => line.includes('http-request')).length).toBeGreaterThan(5);
    expect(recordsOf(daemon.gateway).filter(({ line }) => line.includes(secret))).toEqual([]);
    await daemon.close();
    const files = filesBelow(daemon.stateDir);
    expect(files.length).toBeGreaterThan(3);
    for (const file of files) expect([file, readFileSync(file).includes(secret)]).toEqual([file, false]);
  });

  test('is nothing that the file and the socket of the daemon give, and both are their owner’s alone', async () => {
    const daemon = await openTestDaemon({ policies: PERMIT_ALL });
    const token = await daemon.token({ principal: 'agent:ada' });
    const file = join(daemon.stateDir, 'daemon.json');
    expect(readFileSync(file, 'utf8')).not.toContain('pls_');
    expect(Object.keys(JSON.parse(readFileSync(file, 'utf8')))).toEqual(
      expect.arrayContaining(['pid', 'url', 'version']),
    );
    for (const path of [file, daemon.socketPath]) expect(statSync(path).mode & 0o077).toBe(0);
    expect((await daemon.ask('/v1/whoami', { socketPath: daemon.socketPath })).status).toBe(401);
    expect(
      (await daemon.ask('/v1/whoami', { socketPath: daemon.socketPath, headers: bearer(token) })).json
        .principal,
    ).toBe('agent:ada');
  });
});
