import { mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import { formatHost } from '../packages/gateway/src/egress/authority.ts';
import { decide } from '../packages/gateway/src/egress/decide.ts';
import { processorMs } from '../tests/fixtures/real-programs/processor-time.ts';
import { type Processes, startProcesses } from './egress-processes.ts';
import { makeCase, readRequest, SHAPES, type Shape, SIZES } from './egress-shapes.ts';
import { type BenchOptions, type Figure, scaled, single, spreadOf } from './measure.ts';
import { ratioOf, type Side, takeTurns } from './turns.ts';

/*
 * What it costs to ask before a connection is made, and what the proxy costs afterwards. Decisions are rates of one core, by
 * processor time, for every shape of list at its slowest size, and against what a proxy without rules would do. A tunnel is
 * compared with no proxy at all and with a bare pipe in its place; client, far end and what is between them are processes
 * of their own on every side.
 */

const MIB = 1024 * 1024;
const TUNNELS = 1_000;
const ECHO_BYTES = 64 * 1024;
/** What an open tunnel may hold while nothing is said: two sockets with their streams, timers and a record. */
const IDLE_TUNNEL_BYTES = 64 * 1024;

export async function run({ quick, scratch }: BenchOptions): Promise<Figure[]> {
  const processes = await startProcesses(mkdtempSync(join(scratch, 'egress-')));
  try {
    return [
      ...(await decisions(quick)),
      ...(await againstWalk(quick)),
      ...(await withReading(quick)),
      ...(await throughput(processes, quick)),
      ...(await manyTunnels(processes)),
      // Whole runs come here: a strict one with one host on its list, against the same one without a network.
    ];
  } finally {
    await processes.end();
  }
}

async function decisions(quick: boolean): Promise<Figure[]> {
  const figures: Figure[] = [];
  for (const shape of SHAPES) figures.push(await slowest(shape, quick));
  return figures;
}

/** The size at which a shape has the fewest decisions in a second. All sizes take turns, so that none is measured cold. */
async function slowest(shape: Shape, quick: boolean): Promise<Figure> {
  const sides = SIZES.map((size): Side => {
    const { list, requests } = makeCase(shape, size);
    return { name: String(size), turn: () => turnOf(requests, (request) => decide(list, request)) };
  });
  await takeTurns(5, sides);
  const turns = await takeTurns(quick ? 5 : 15, sides);
  const rates = sides.map(({ name }) => ({
    name,
    spread: spreadOf((turns[name] ?? []).map((ms) => 1000 / ms)),
  }));
  const slow = rates.reduce((a, b) => (b.spread.median < a.spread.median ? b : a));
  return {
    ...{ name: `decide, ${shape.name}`, unit: 'per s', spread: slow.spread, goal: { atLeast: 200_000 } },
    note: `slowest of all sizes: ${slow.name}`,
  };
}

/** Milliseconds of the processor for one act, over some hundredths of a second. */
function turnOf<Item>(items: readonly Item[], act: (item: Item) => unknown): number {
  const startedMs = processorMs();
  let acts = 0;
  let tookMs = 0;
  while (tookMs < 8) {
    for (const item of items) act(item);
    acts += items.length;
    tookMs = processorMs() - startedMs;
  }
  return tookMs / acts;
}

/** The least that any proxy does: compare the name with one listed name after the other. */
async function againstWalk(quick: boolean): Promise<Figure[]> {
  const [shape] = SHAPES;
  const figures: Figure[] = [];
  for (const size of SIZES) {
    const { list, requests } = makeCase(shape, size);
    const hosts = requests.map(({ host }) => formatHost(host));
    const walk = (asked: string) => list.entries.find((name) => asked === name || asked.endsWith(`.${name}`));
    const sides: Side[] = [
      { name: 'walk', turn: () => turnOf(hosts, walk) },
      { name: 'decide', turn: () => turnOf(requests, (request) => decide(list, request)) },
    ];
    await takeTurns(2, sides);
    const turns = await takeTurns(quick ? 6 : 20, sides);
    const name = `decide / walk over the names, ${size} entries`;
    figures.push({ name, unit: 'x', spread: ratioOf(turns, 'walk', 'decide') });
  }
  return figures;
}

/** From the text of a request to the decision, against Node's parser of URLs, which decides nothing. */
async function withReading(quick: boolean): Promise<Figure[]> {
  const figures: Figure[] = [];
  for (const shape of SHAPES) {
    if (shape.text === undefined) continue;
    const { list, raws } = makeCase(shape, 100);
    const urls = raws.map((raw) => (raw.includes(' ') ? raw.slice(raw.indexOf(' ') + 1) : `http://${raw}/`));
    const sides: Side[] = [
      { name: 'read', turn: () => turnOf(raws, (raw) => decide(list, readRequest(raw))) },
      { name: 'url', turn: () => turnOf(urls, (url) => new URL(url)) },
    ];
    await takeTurns(2, sides);
    const turns = await takeTurns(quick ? 6 : 20, sides);
    figures.push(
      {
        name: `read and decide / new URL(), ${shape.text}`,
        unit: 'x',
        spread: ratioOf(turns, 'read', 'url'),
      },
      {
        name: `read and decide, ${shape.text}`,
        unit: 'us',
        spread: scaled(spreadOf(turns.read ?? []), 1000),
      },
    );
  }
  return figures;
}

async function throughput({ client, routes }: Processes, quick: boolean): Promise<Figure[]> {
  const bytes = 64 * MIB;
  const figures: Figure[] = [];
  for (const [way, name] of [
    ['take', 'upwards'],
    ['give', 'downwards'],
  ] as const) {
    const sides = Object.entries(routes).map(
      ([side, route]): Side => ({ name: side, turn: () => client.ask({ ask: 'move', way, bytes, route }) }),
    );
    await takeTurns(3, sides);
    const turns = await takeTurns(quick ? 10 : 40, sides);
    const rates = (side: string) => spreadOf((turns[side] ?? []).map((ms) => bytes / 1e3 / ms));
    figures.push(
      {
        ...{ name: `tunnel / no proxy, ${name}`, unit: 'x', spread: ratioOf(turns, 'direct', 'tunnel') },
        goal: { atLeast: 0.5 },
      },
      {
        ...{ name: `tunnel / bare pipe, ${name}`, unit: 'x', spread: ratioOf(turns, 'pipe', 'tunnel') },
        goal: { atLeast: 1 },
      },
      { name: `tunnel, ${name}`, unit: 'MB/s', spread: rates('tunnel') },
      { name: `no proxy, ${name}`, unit: 'MB/s', spread: rates('direct') },
    );
  }
  return figures;
}

/** Tunnels that are all open at once: what each holds in the proxy, and how fast bytes go through all of them and back. */
async function manyTunnels({ client, proxy, routes }: Processes): Promise<Figure[]> {
  const beforeBytes = await proxy.ask({ ask: 'memory' });
  const perTunnel = async () => single(((await proxy.ask({ ask: 'memory' })) - beforeBytes) / TUNNELS);
  await client.ask({ ask: 'open', count: TUNNELS, route: routes.tunnel });
  const idle = await perTunnel();
  const times: number[] = [];
  for (let round = 0; round < 5; round += 1) times.push(await client.ask({ ask: 'echo', bytes: ECHO_BYTES }));
  const rates = times.map((ms) => (TUNNELS * ECHO_BYTES) / 1e3 / ms);
  const name = `memory of a tunnel, ${TUNNELS} open`;
  return [
    { name, unit: 'bytes', spread: idle, goal: { atMost: IDLE_TUNNEL_BYTES } },
    { name: `${name} and used`, unit: 'bytes', spread: await perTunnel(), note: 'with what malloc keeps' },
    {
      name: `${TUNNELS} tunnels, there and back`,
      unit: 'MB/s',
      spread: spreadOf(rates),
      note: 'every byte compared',
    },
  ];
}
