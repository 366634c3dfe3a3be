import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, rmSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { describe, expect, onTestFinished, test } from 'vitest';
import { readEnvironment } from '../../packages/gateway/src/config/environment.ts';
import { openRecords } from '../../packages/gateway/src/open.ts';
import { ask } from '../../packages/gateway/test/doors/http/open-door.ts';
import { makeTool, PERMIT_ALL, recordsOf } from '../../packages/gateway/test/fixture/gateway.ts';
import { holdLock } from '../../packages/gateway/test/store/sample.ts';
import { PALISADE, palisade } from '../fixtures/cli.ts';
import { makeDirectories } from '../fixtures/commands/index.ts';
import { callRequest, openTestDaemon } from '../fixtures/door/daemon.ts';
import { callMcp } from '../fixtures/door/mcp.ts';

/* Nothing can be recorded, and a caller would have its call run all the same. */

/** For some records, and not for many; a jail also needs room for its launcher, of 0.8 MiB. */
const ROOM_BYTES = 512 * 1024;

async function openHouse() {
  let runs = 0;
  const tool = makeTool('test.count', async () => {
    runs += 1;
    return {};
  });
  const toml = '[store]\nbusy_timeout_ms = 50\n';
  const daemon = await openTestDaemon({ policies: PERMIT_ALL, tools: [tool], toml });
  return { daemon, runs: () => runs, ada: await daemon.token({ principal: 'agent:ada' }) };
}

/** By every way in, alone and many at once. */
async function tryAll({ daemon, ada }: Awaited<ReturnType<typeof openHouse>>, key: string) {
  const events = { accept: 'text/event-stream' };
  const answers = await Promise.all([
    daemon.call(ada, 'test.count'),
    daemon.call(ada, 'test.count', { headers: { 'idempotency-key': key } }),
    daemon.call(ada, 'test.count', { headers: events }),
    daemon.call(ada, 'test.count', { headers: { ...events, 'idempotency-key': `${key}-e` } }),
  ]);
  const mcp = await Promise.all([callMcp(daemon, ada, 'test.count'), callMcp(daemon, ada, 'test.count')]);
  return [...answers.map(({ text }) => text), ...mcp.map(({ text }) => text)];
}

describe('a store that takes no record', () => {
  test('because another process holds it lets nothing run, and says so', async () => {
    const here = await openHouse();
    const { daemon, runs } = here;
    const before = recordsOf(daemon.gateway).length;
    const lock = holdLock(daemon.stateDir);
    for (const text of await tryAll(here, 'a')) expect(text).toContain('store/locked');
    expect(runs()).toBe(0);
    lock.exec('ROLLBACK');
    expect(recordsOf(daemon.gateway)).toHaveLength(before);
    // The very same requests run once the store takes records, keys and all.
    for (const text of await tryAll(here, 'a')) expect(text).not.toContain('store/locked');
    expect(runs()).toBe(6);
    const kinds = recordsOf(daemon.gateway)
      .slice(before)
      .map(({ kind }) => kind);
    expect(kinds.filter((kind) => kind === 'intent')).toHaveLength(6);
    expect(kinds.filter((kind) => kind === 'ended')).toHaveLength(6);
  });

  test('because the disk is full lets no command run, from the first that does not fit', async () => {
    const { stateDir, workspace } = makeDirectories('');
    onTestFinished(() => rmSync(dirname(stateDir), { recursive: true, force: true }));
    const words = ['token', 'create', '--principal', 'agent:ada', '--json', '--state', stateDir];
    const { token } = JSON.parse((await palisade(words)).out) as { token: string };
    const port = await serveOnFullDisk(stateDir, workspace);
    const codes: string[] = [];
    for (let i = 0; i < 200 && codes.filter((code) => code === 'store/full').length < 5; i++) {
      const input = { command: 'sh', args: ['-c', `echo ${i} >> marks`] };
      const { json } = await ask(port, '/v1/calls', callRequest(token, 'palisade.process.run', { input }));
      codes.push(json.code);
    }
    const marks = readFileSync(join(workspace, 'marks'), 'utf8').trim().split('\n');
    // Some ran while there was room, and nothing after.
    expect(codes[0]).toBe('ok');
    expect(codes.slice(-5)).toEqual(['store/full', 'store/full', 'store/full', 'store/full', 'store/full']);
    const records = await openRecords({ stateDir, env: readEnvironment({}), version: '0.0.0' });
    const intents = recordsOf(records).filter(({ kind }) => kind === 'intent');
    records.release();
    expect(marks.length).toBeLessThanOrEqual(intents.length);
    const ran = codes.filter((code) => code === 'ok' || code === 'tier/unknown-ending');
    expect(marks).toHaveLength(ran.length);
  });

  /** The built gateway, whose files cannot grow much beyond what its database has now. */
  async function serveOnFullDisk(stateDir: string, workspace: string): Promise<number> {
    const serve = [
      process.execPath,
      PALISADE,
      'serve',
      '--state',
      stateDir,
      '--listen',
      '127.0.0.1:0',
      '--json',
      '--workspace',
      workspace,
    ];
    const { size } = statSync(join(stateDir, 'palisade.db'));
    const blocks = Math.ceil((size + ROOM_BYTES) / 512);
    const child = spawn('/bin/sh', ['-c', `ulimit -S -f ${blocks}; exec "$@"`, 'sh', ...serve], {
      ...{ cwd: workspace, stdio: ['ignore', 'pipe', 'ignore'] },
    });
    onTestFinished(async () => {
      child.kill('SIGKILL');
      if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
    });
    let text = '';
    for await (const line of createInterface({ input: child.stdout })) {
      text += line;
      if (line.startsWith('}') || line.endsWith('}')) break;
    }
    return (JSON.parse(text) as { port: number }).port;
  }
});
