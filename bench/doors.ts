import { setTimeout as sleep } from 'node:timers/promises';
import { readEnvironment } from '../packages/gateway/src/config/environment.ts';
import { ALL_SCOPES, type Caller } from '../packages/gateway/src/core/caller.ts';
import { DEFAULT_LIMITS } from '../packages/gateway/src/core/limits.ts';
import { NO_LOG } from '../packages/gateway/src/core/log.ts';
import type { Tool } from '../packages/gateway/src/core/tool.ts';
import { makeMcp } from '../packages/gateway/src/doors/mcp/index.ts';
import { invoke } from '../packages/gateway/src/invoke/invoke.ts';
import { search } from '../packages/gateway/src/journal/search.ts';
import { openGateway, openRecords } from '../packages/gateway/src/open.ts';
import { echoCall, never, openBed } from './bed.ts';
import { doorState, endServed, Line, type Served, StdioDoor, serveBare, serveState } from './door-bed.ts';
import { type BenchOptions, type Figure, single, spreadOf, timesOf } from './measure.ts';

/*
 * What the doors add to the line, measured from outside: the shipped `palisade serve` and `palisade mcp` run in processes
 * of their own, and every call is durable. The line itself is timed in the same rounds, in this process.
 */

const CONNECTIONS = 64;
const ECHO = { message: 'hello', count: 3, tags: ['a', 'b'], nested: { deep: true } };
const BODY = JSON.stringify({ tool: 'palisade.echo', input: ECHO });
const TOOLS = 5_000;

export async function run({ quick, scratch }: BenchOptions): Promise<Figure[]> {
  const added = await whatDoorsAdd(scratch, quick ? 4 : 20);
  const rates = await rateOverHttp(scratch, quick ? 3 : 10);
  const lists = await longLists(scratch, quick ? 5 : 50);
  return [...added, ...rates, ...lists];
}

async function whatDoorsAdd(scratch: string, rounds: number): Promise<Figure[]> {
  const gateway = await openBed(scratch);
  const { state, token } = await doorState(scratch);
  const served = await serveState(state, token);
  const stdio = new StdioDoor((await doorState(scratch)).state);
  const line = new Line(served.port);
  const acts = {
    line: () => invoke(gateway, echoCall(), never()),
    http: () => okay(line.post('/v1/calls', token, BODY)),
    stdio: () => stdio.ask('tools/call', { name: 'palisade.echo', arguments: ECHO }),
  };
  try {
    await stdio.open();
    const times: Record<keyof typeof acts, number[]> = { line: [], http: [], stdio: [] };
    for (const act of Object.values(acts)) await timesOf(1_000, act);
    for (let round = 0; round < rounds; round += 1) {
      for (const [name, act] of Object.entries(acts)) {
        times[name as keyof typeof acts].push(...(await timesOf(100, act)));
      }
    }
    const inside = spreadOf(times.line).median;
    return [
      { name: 'the line, in process, p50', unit: 'ms', spread: spreadOf(times.line) },
      { name: 'the same over HTTP', unit: 'ms', spread: spreadOf(times.http) },
      { name: 'the same over stdio (MCP)', unit: 'ms', spread: spreadOf(times.stdio) },
      {
        name: 'HTTP adds, p50',
        unit: 'ms',
        spread: single(spreadOf(times.http).median - inside),
        goal: { atMost: 1.5 },
      },
      {
        name: 'stdio adds, p50',
        unit: 'ms',
        spread: single(spreadOf(times.stdio).median - inside),
        goal: { atMost: 0.5 },
      },
    ];
  } finally {
    line.close();
    await stdio.close();
    await endServed(served);
    await gateway.close();
  }
}

async function okay(status: Promise<number>): Promise<void> {
  const code = await status;
  if (code !== 200) throw new Error(`Cannot bench doors: a call was answered with ${code}`);
}

async function rateOverHttp(scratch: string, rounds: number): Promise<Figure[]> {
  const { state, token } = await doorState(scratch);
  const served = await serveState(state, token);
  const bare = await serveBare();
  let made = 0;
  try {
    const [ours, theirs]: [number[], number[]] = [[], []];
    for (let round = -1; round < rounds; round += 1) {
      const rate = await rateOf(served, 2_000);
      made += rate.count;
      const bareRate = await rateOf(bare, 1_000);
      if (round >= 0) {
        ours.push(rate.perSecond);
        theirs.push(bareRate.perSecond);
      }
    }
    await endServed(served);
    const durable = await endedCalls(state);
    if (durable !== made) throw new Error(`Cannot bench doors: ${made} calls, and ${durable} in the journal`);
    return [
      {
        name: `echo calls over HTTP, ${CONNECTIONS} connections, each durable`,
        unit: 'per s',
        spread: spreadOf(ours),
        goal: { atLeast: 2_000 },
        note: `all ${made} are in the journal`,
      },
      { name: 'a bare node:http server, same client', unit: 'per s', spread: spreadOf(theirs) },
      {
        name: 'calls over HTTP / bare answers',
        unit: 'x',
        spread: spreadOf(ours.map((rate, i) => rate / (theirs[i] ?? Number.NaN))),
      },
    ];
  } finally {
    if (served.child.exitCode === null) await endServed(served);
    await endServed(bare);
  }
}

async function rateOf({ port, token }: Served, forMs: number): Promise<{ perSecond: number; count: number }> {
  const lines = Array.from({ length: CONNECTIONS }, () => new Line(port));
  const startedMs = performance.now();
  let count = 0;
  await Promise.all(
    lines.map(async (line) => {
      while (performance.now() - startedMs < forMs) {
        await okay(line.post('/v1/calls', token, BODY));
        count += 1;
      }
    }),
  );
  const tookMs = performance.now() - startedMs;
  for (const line of lines) line.close();
  return { perSecond: (count / tookMs) * 1_000, count };
}

/** What the journal really has, read after the server has ended. */
async function endedCalls(state: string): Promise<number> {
  const records = await openRecords({ stateDir: state, env: readEnvironment({}), version: '0.0.0' });
  try {
    let [count, cursor]: [number, number | null] = [0, null];
    do {
      const page = search(records.segments, { kind: 'ended' }, { newestFirst: false, limit: 1_000, cursor });
      count += page.records.length;
      cursor = page.cursor;
    } while (cursor !== null);
    return count;
  } finally {
    await records.close();
  }
}

/** Five thousand tools, each with a schema of its own, asked for as clients do: page by page, until there are no more. */
async function longLists(scratch: string, rounds: number): Promise<Figure[]> {
  const { state } = await doorState(scratch);
  const tools = Array.from({ length: TOOLS }, (_, i) => toolOf(i));
  const gateway = await openGateway({ stateDir: state, env: readEnvironment({}), version: '0.0.0', tools });
  const mcp = makeMcp({ gateway, log: NO_LOG, version: '0.0.0' });
  const caller: Caller = {
    ...{ principal: { kind: 'agent', name: 'ada' }, tenant: 'default', approver: null },
    ...{ scopes: new Set(ALL_SCOPES), credential: 'process' },
  };
  try {
    const list = async () => {
      const names = await namesOf(mcp, caller);
      if (names < TOOLS) throw new Error(`Cannot bench doors: ${names} tools were listed`);
    };
    await sleep(50);
    const [first = 0] = await timesOf(1, list);
    await timesOf(5, list);
    return [
      { name: `tools/list with ${TOOLS} tools, first`, unit: 'ms', spread: single(first) },
      {
        name: `tools/list with ${TOOLS} tools, warm`,
        unit: 'ms',
        spread: spreadOf(await timesOf(rounds, list)),
        goal: { atMost: 50 },
        note: 'whole list, by the HTTP handler',
      },
    ];
  } finally {
    await mcp.close();
    await gateway.close();
  }
}

async function namesOf(mcp: ReturnType<typeof makeMcp>, caller: Caller): Promise<number> {
  let [count, cursor]: [number, string | undefined] = [0, undefined];
  do {
    const response = await mcp.fetch(listRequest(cursor), caller);
    const { result } = (await response.json()) as {
      result: { tools: readonly unknown[]; nextCursor?: string };
    };
    count += result.tools.length;
    cursor = result.nextCursor;
  } while (cursor !== undefined);
  return count;
}

function listRequest(cursor: string | undefined): Request {
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientCapabilities': {},
  };
  const params = cursor === undefined ? { _meta } : { _meta, cursor };
  return new Request('http://127.0.0.1/mcp', {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': 'tools/list',
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list', params }),
  });
}

function toolOf(i: number): Tool {
  const text = { type: 'string', maxLength: 100 + i };
  return {
    id: `bench.tool-${String(i).padStart(4, '0')}`,
    description: `The tool ${i} of a long list, which does what its name says.`,
    category: 'bench',
    risk: 'low',
    inputSchema: { type: 'object', properties: { text, other: { type: 'integer' } }, required: ['text'] },
    outputSchema: { type: 'object' },
    capabilities: [],
    tier: 'builtin',
    limits: DEFAULT_LIMITS,
    hosts: () => [],
    paths: () => [],
    artifacts: [],
    executor: { kind: 'builtin', run: async () => ({}) },
  };
}
