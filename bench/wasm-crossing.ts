import { readFileSync } from 'node:fs';
import { createEngine } from '../packages/wasm/src/instance/engine.ts';
import { hostFunction, hostTable } from '../packages/wasm/src/instance/host.ts';
import { type BenchOptions, type Figure, scaled, spreadOf } from './measure.ts';
import { ratioOf, type Side, takeTurns } from './turns.ts';
import { keepCallsApart, processorMsOf } from './wasm-sides.ts';

/*
 * A guest that calls its host in a loop: a bare import, a bare import that looks the handle up in a table of rights, and
 * the same through the engine, which also meters, watches the deadline and lets nothing but numbers back.
 */

type Rights = Uint8Array;
type Work = (n: number) => unknown;
type Guest = { readonly touch_all: Work; readonly show_all: Work };

const READ = 1;
const CALLS = 100_000;
const FUEL = 1_000_000_000;

function check(rights: Rights, handle: number): number {
  if (((rights[handle] ?? 0) & READ) === 0) throw new RangeError('Cannot touch: the handle is not granted');
  return handle + 1;
}

export async function run({ quick }: BenchOptions): Promise<Figure[]> {
  keepCallsApart();
  const bytes = new Uint8Array(readFileSync('bench/kernels/crossing.wasm'));
  const bare = bareGuest(bytes);
  const engine = await engineGuest(bytes);
  const touching = { bare, 'bare with a check': checkedGuest(bytes), engine };
  return [
    ...(await compareGuests('host call', 'touch_all', touching, quick)),
    ...(await compareGuests('host call with 32 bytes of text', 'show_all', { bare, engine }, quick)),
  ];
}

/** Every guest on its own, and the engine against the one before it. */
async function compareGuests(
  what: string,
  work: keyof Guest,
  guests: Readonly<Record<string, Guest>>,
  quick: boolean,
): Promise<Figure[]> {
  const names = Object.keys(guests);
  const sides = Object.entries(guests).map(([name, guest]): Side => {
    return { name, turn: () => processorMsOf(() => guest[work](CALLS)) };
  });
  await takeTurns(20, sides);
  const turns = await takeTurns(quick ? 40 : 200, sides);
  const each = names.map((name): Figure => {
    const spread = scaled(spreadOf(turns[name] ?? []), 1e6 / CALLS);
    return { name: `${what}, ${name}`, unit: 'ns', spread };
  });
  const peer = names.at(-2) ?? '';
  const ratio = ratioOf(turns, 'engine', peer);
  const over = (turns.engine ?? []).map((ms, round) => ((ms - (turns.bare?.[round] ?? 0)) * 1e6) / CALLS);
  return [
    ...each,
    { name: `${what}, engine / ${peer}`, unit: 'x', spread: ratio },
    { name: `${what}, engine over bare`, unit: 'ns', spread: spreadOf(over), ...goalOf(work) },
  ];
}

/** Reading text has no goal: what it costs is the decoder's. */
function goalOf(work: keyof Guest): Pick<Figure, 'goal'> {
  return work === 'touch_all' ? { goal: { atMost: 12 } } : {};
}

function instanceOf(bytes: Uint8Array<ArrayBuffer>, touch: (handle: number) => number): Guest {
  const decoder = new TextDecoder();
  const show = (pointer: number, length: number): number =>
    decoder.decode(new Uint8Array(memory.buffer, pointer, length)).length;
  const { exports } = new WebAssembly.Instance(new WebAssembly.Module(bytes), { bench: { touch, show } });
  const memory = exports.memory as WebAssembly.Memory;
  return exports as unknown as Guest;
}

function bareGuest(bytes: Uint8Array<ArrayBuffer>): Guest {
  return instanceOf(bytes, (handle) => handle + 1);
}

function checkedGuest(bytes: Uint8Array<ArrayBuffer>): Guest {
  const rights = new Uint8Array(8).fill(READ);
  return instanceOf(bytes, (handle) => check(rights, handle));
}

async function engineGuest(bytes: Uint8Array<ArrayBuffer>): Promise<Guest> {
  const hosts = hostTable([
    hostFunction({
      module: 'bench',
      name: 'touch',
      params: ['i32'],
      results: ['i32'],
      fuel: 10,
      run: (guest, handle) => check(guest.context as Rights, handle),
    }),
    hostFunction({
      module: 'bench',
      name: 'show',
      params: ['i32', 'i32'],
      results: ['i32'],
      fuel: 10,
      run: (guest, pointer, length) => guest.readText(pointer, length).length,
    }),
  ]);
  const engine = createEngine({ limits: { fuel: FUEL } });
  const instance = engine.instantiate(await engine.compile(bytes, { hosts }), { hosts });
  const context: Rights = new Uint8Array(8).fill(READ);
  const call = (name: string) => (n: number) => instance.call(name, [n], { context });
  return { touch_all: call('touch_all'), show_all: call('show_all') };
}
