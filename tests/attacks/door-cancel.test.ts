import { existsSync, rmSync } from 'node:fs';
import { request as httpRequest } from 'node:http';
import { dirname, join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { readEnvironment } from '../../packages/gateway/src/config/environment.ts';
import type { Json } from '../../packages/gateway/src/core/json.ts';
import { openRecords } from '../../packages/gateway/src/open.ts';
import { reservations } from '../../packages/gateway/test/budget/reservations.ts';
import { bearer, type How } from '../../packages/gateway/test/doors/http/open-door.ts';
import { eventually } from '../../packages/gateway/test/doors/mcp/raw-client.ts';
import {
  bodyOf,
  kindsOf,
  makeTool,
  PERMIT_ALL,
  recordsOf,
} from '../../packages/gateway/test/fixture/gateway.ts';
import { makeDirectories } from '../fixtures/commands/index.ts';
import { leftovers, NO_TRACES, traces } from '../fixtures/commands/leftovers.ts';
import { callRequest, openTestDaemon, type TestDaemon } from '../fixtures/door/daemon.ts';
import { modern, openSession } from '../fixtures/door/mcp.ts';
import { sample } from '../volume/volume.ts';

/* Whoever asked goes away or says that the call is to end, and the command would like to go on without them. */

const BUDGET = '[[budget]]\nname = "all"\nper = "tenant"\nwindow = "1h"\ncalls = 1000\nwall_ms = 100000000\n';
const COMMANDS = 'palisade.process.run';
/** A tree: a child, a grandchild in a session of its own that holds no pipe, and one that will not be told to end. */
const TREE = [
  'trap "" TERM INT HUP',
  'setsid sh -c "trap \\"\\" TERM HUP; exec >&- 2>&-; sleep 671" &',
  '(sleep 672 &)',
  'echo begun; touch begun',
  'sleep 673',
].join('\n');
const command = (tier: string) => ({ command: 'sh', args: ['-c', TREE], tier });

/** Sends and does not wait; the connection can be cut. */
function begin({ port }: TestDaemon, path: string, how: How) {
  const { method = 'GET', headers = {}, body = '' } = how;
  const sent = httpRequest({ host: '127.0.0.1', port, path, method, agent: false, headers: { ...headers } });
  sent.on('error', () => undefined);
  sent.on('response', (response) => response.resume().on('error', () => undefined));
  sent.end(body);
  return { cut: () => sent.destroy() };
}

type Way = (daemon: TestDaemon, token: string, input: Json) => Promise<() => unknown>;

const params = (input: Json) => ({ name: COMMANDS, arguments: input });
const idOf = ({ gateway }: TestDaemon) => gateway.running.list()[0]?.callId ?? '';

/** Each begins the call, and gives what ends it. */
const WAYS: Readonly<Record<string, Way>> = {
  'its client closes the connection': async (daemon, token, input) =>
    begin(daemon, '/v1/calls', callRequest(token, COMMANDS, { input })).cut,
  'its client closes the stream of events': async (daemon, token, input) =>
    begin(
      daemon,
      '/v1/calls',
      callRequest(token, COMMANDS, { input, headers: { accept: 'text/event-stream' } }),
    ).cut,
  'its client cancels it by its id': async (daemon, token, input) => {
    begin(daemon, '/v1/calls', callRequest(token, COMMANDS, { input, headers: { 'idempotency-key': 'k1' } }));
    return () => daemon.ask(`/v1/calls/${idOf(daemon)}/cancel`, { method: 'POST', headers: bearer(token) });
  },
  'an MCP client closes the response': async (daemon, token, input) =>
    begin(daemon, '/mcp', modern(token, 'tools/call', params(input))).cut,
  'an MCP client of a session says that it is cancelled': async (daemon, token, input) => {
    const { request } = await openSession(daemon, token);
    begin(daemon, '/mcp', request('tools/call', params(input), { id: 7 }));
    return () => daemon.ask('/mcp', request('notifications/cancelled', { requestId: 7 }));
  },
  'an MCP client ends its session': async (daemon, token, input) => {
    const { request } = await openSession(daemon, token);
    const call = request('tools/call', params(input), { id: 7 });
    begin(daemon, '/mcp', call);
    return () => daemon.ask('/mcp', { method: 'DELETE', headers: { ...call.headers } });
  },
  'the gateway is told to stop': async (daemon, token, input) => {
    begin(daemon, '/v1/calls', callRequest(token, COMMANDS, { input, headers: { 'idempotency-key': 'k1' } }));
    return () => void daemon.close();
  },
};

describe.each(sample(['b', 'c']))('a tree of processes in tier %s', (tier) => {
  test.each(Object.entries(WAYS))('is gone, recorded and paid for when %s', async (_, way) => {
    const place = makeDirectories('');
    onTestFinished(() => rmSync(dirname(place.stateDir), { recursive: true, force: true }));
    const toml = `${BUDGET}[http]\ndrain_ms = 1\n`;
    const daemon = await openTestDaemon({ place, toml });
    const token = await daemon.token({ principal: 'agent:ada' });
    const before = traces(place.stateDir);
    const end = await way(daemon, token, command(tier));
    await eventually(() => existsSync(join(place.workspace, 'begun'))).toBe(true);
    const callId = idOf(daemon);
    // The control: all of the tree is really there.
    const alive = traces(place.stateDir).processes.filter((words) => /sleep 67[123]$/.test(words));
    expect(alive.length).toBeGreaterThanOrEqual(3);
    expect(reservations(daemon.gateway.store)).toHaveLength(1);
    await end();
    await eventually(() => daemon.gateway.running.size).toBe(0);
    const gone = traces(place.stateDir).processes.filter((words) => /sleep 67[123]$/.test(words));
    expect(gone).toEqual([]);
    await daemon.close();
    const after = await openRecords({ stateDir: place.stateDir, env: readEnvironment(), version: '0.0.0' });
    expect(kindsOf(after, callId)).toEqual(['intent', 'ended']);
    const ended = recordsOf(after).findLast(({ call }) => call === callId);
    expect(bodyOf(ended)).toMatchObject({ status: 'failed', code: 'tier/cancelled', usage: { calls: 1 } });
    expect(reservations(after.store)).toEqual([]);
    after.release();
    // Files of the same kind come and go with runs of other gateways on this machine.
    const left = await leftovers(place.stateDir, { ...before, files: traces(place.stateDir).files });
    expect({ ...left, files: [] }).toEqual(NO_TRACES);
  });
});

describe('a call that is cancelled before it runs', () => {
  test('is never half made, however early its client goes', async () => {
    let runs = 0;
    const tool = makeTool('test.count', async (_, signal) => {
      runs += 1;
      await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
      throw signal.reason;
    });
    const daemon = await openTestDaemon({ policies: PERMIT_ALL, tools: [tool], toml: BUDGET });
    const token = await daemon.token({ principal: 'agent:ada' });
    for (let i = 0; i < 60; i++) {
      const isMcp = i % 2 === 1;
      const how = isMcp
        ? modern(token, 'tools/call', { name: 'test.count', arguments: {} })
        : callRequest(token, 'test.count');
      const { cut } = begin(daemon, isMcp ? '/mcp' : '/v1/calls', how);
      await new Promise((resolve) => setTimeout(resolve, i % 12));
      cut();
    }
    await eventually(() => daemon.gateway.running.size).toBe(0);
    const records = recordsOf(daemon.gateway);
    const count = (kind: string) => records.filter((record) => record.kind === kind).length;
    expect(count('intent')).toBe(runs);
    expect(count('ended')).toBe(runs);
    expect(runs).toBeGreaterThan(0);
    expect(reservations(daemon.gateway.store)).toEqual([]);
    for (const record of records.filter(({ kind }) => kind === 'ended'))
      expect(bodyOf(record)).toMatchObject({ code: 'tier/cancelled' });
  });

  test('of another caller continues, whatever a stranger sends to cancel it', async () => {
    const tool = makeTool(
      'test.hold',
      (_, signal) =>
        new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
    );
    const daemon = await openTestDaemon({ policies: PERMIT_ALL, tools: [tool] });
    const ada = await daemon.token({ principal: 'agent:ada' });
    const mallory = await daemon.token({ principal: 'agent:mallory', scopes: ['call', 'read'] });
    const elsewhere = await daemon.token({ principal: 'agent:ada', tenant: 'acme' });
    begin(daemon, '/v1/calls', callRequest(ada, 'test.hold'));
    const session = await openSession(daemon, ada);
    begin(daemon, '/mcp', session.request('tools/call', { name: 'test.hold', arguments: {} }, { id: 7 }));
    await eventually(() => daemon.gateway.running.size).toBe(2);
    const strange = await openSession(daemon, mallory);
    await daemon.ask('/mcp', strange.request('notifications/cancelled', { requestId: 7 }));
    const note = session.request('notifications/cancelled', { requestId: 7 });
    await daemon.ask('/mcp', { ...note, headers: { ...note.headers, ...bearer(mallory) } });
    for (const token of [mallory, elsewhere])
      for (const { callId } of daemon.gateway.running.list())
        expect(
          (await daemon.ask(`/v1/calls/${callId}/cancel`, { method: 'POST', headers: bearer(token) })).status,
        ).toBe(404);
    expect(daemon.gateway.running.size).toBe(2);
    await daemon.ask('/mcp', note);
    await daemon.ask(
      `/v1/calls/${daemon.gateway.running.list().find(({ door }) => door === 'http')?.callId}/cancel`,
      {
        method: 'POST',
        headers: bearer(ada),
      },
    );
    await eventually(() => daemon.gateway.running.size).toBe(0);
  });
});
