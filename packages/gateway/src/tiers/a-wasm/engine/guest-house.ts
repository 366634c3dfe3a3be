import {
  CEILINGS,
  type CompileOptions,
  createEngine,
  type Engine,
  type Pool,
  WasmError,
} from '@palisade/wasm';
import { ABI_ALLOC } from '../abi.table.ts';
import type { CallHead, DoneHead } from '../engine-words.ts';
import { newCallContext } from './call-context.ts';
import type { Channel } from './channel.ts';
import { hostTableOf } from './host-functions.ts';

/** Owners whose guests have a place of their own at once; the one that was used longest ago goes first. */
const MOST_POOLS = 64;
/** What places that nobody sits on may be promised, beside the guest that runs; the sandbox leaves twice as much. */
const KEPT_BYTES = 256 * 1024 * 1024;

export type Done = { readonly head: DoneHead; readonly bytes: Uint8Array };

const NO_BYTES = new Uint8Array(0);
/** Names of a module stand in messages, and may be as long as it likes. */
const MOST_MESSAGE_CHARS = 2_000;

/** Modules and the places of their guests. Each call has a guest of its own, on a place that only its owner uses. */
export class GuestHouse {
  readonly #engine: Engine;
  readonly #channel: Channel;
  readonly #modules = new Map<string, Uint8Array<ArrayBuffer>>();
  readonly #pools = new Map<string, Pool>();

  constructor(channel: Channel, memoryBytes: number) {
    this.#channel = channel;
    // What a call may use is said with each call.
    const limits = { memoryBytes, fuel: CEILINGS.fuel };
    this.#engine = createEngine({ deterministic: true, limits, totalMemoryBytes: memoryBytes + KEPT_BYTES });
  }

  /** Takes a module in; it is compiled when the first call needs it. */
  keep(key: string, bytes: Uint8Array): void {
    this.#modules.set(key, new Uint8Array(bytes));
  }

  async run(head: CallHead, input: Uint8Array): Promise<Done> {
    const context = newCallContext(head);
    try {
      const pool = await this.#poolOf(head);
      const { fuel, outputBytes } = head.limits;
      const { bytes, ...usage } = pool.exchange({ room: ABI_ALLOC, work: head.tool }, input, {
        fuel,
        mostBytes: outputBytes,
        context,
      });
      const { failure, isLogCut } = context;
      const ending = failure === null ? 'returned' : 'failed';
      return { head: { ending, ...usage, isLogCut }, bytes: failure ?? bytes };
    } catch (error) {
      if (!(error instanceof WasmError)) throw error;
      const { code, message, detail, usage } = error;
      const used = usage ?? { fuelUsed: 0, isExact: false, peakMemoryBytes: 0 };
      const told = { code, message: cut(message), ...(detail === undefined ? {} : { detail: cut(detail) }) };
      return { head: { ending: 'trapped', ...told, ...used, isLogCut: context.isLogCut }, bytes: NO_BYTES };
    }
  }

  async #poolOf(head: CallHead): Promise<Pool> {
    const { key, owner, functions, limits } = head;
    const name = JSON.stringify([owner, key, functions, limits.memoryBytes]);
    const pool = this.#pools.get(name) ?? (await this.#open(head));
    // The one that was used last is the last to go.
    this.#pools.delete(name);
    this.#pools.set(name, pool);
    return pool;
  }

  async #open({ key, functions, limits: { memoryBytes } }: CallHead): Promise<Pool> {
    const bytes = this.#modules.get(key);
    if (bytes === undefined) throw new WasmError('malformed', `Cannot run module: "${key}" never came`);
    const hosts = hostTableOf(functions, this.#channel);
    const options: CompileOptions = { hosts, limits: { memoryBytes } };
    const compiled = await this.#engine.compile(bytes, options);
    if (this.#pools.size >= MOST_POOLS) this.#closeOldest();
    for (;;) {
      try {
        return this.#engine.pool(compiled, { size: 1, hosts });
      } catch (error) {
        // Boundary: places that are only kept never turn away a guest that wants to run.
        const isFull = error instanceof WasmError && error.code === 'memory';
        if (!isFull || !this.#closeOldest()) throw error;
      }
    }
  }

  #closeOldest(): boolean {
    const [oldest] = this.#pools;
    if (oldest === undefined) return false;
    const [name, pool] = oldest;
    this.#pools.delete(name);
    pool.close();
    return true;
  }
}

function cut(text: string): string {
  return text.slice(0, MOST_MESSAGE_CHARS);
}
