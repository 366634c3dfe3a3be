import { setFlagsFromString } from 'node:v8';
import {
  CEILINGS,
  type CompiledModule,
  callLifted,
  createEngine,
  type Engine,
  type Form,
  type HostTable,
  isComponent,
  METER_VERSION,
  type Pool,
  sourcePlaces,
  type Usage,
  WasmError,
} from '@palisade/wasm';
import type { EngineFacts } from '../../../core/recording.ts';
import { ABI_ALLOC, ABI_BEGIN, ABI_FUNCTIONS, type AbiName } from './abi.table.ts';
import { worldHosts } from './component-handlers.ts';
import { type CallContext, hostTableOf, newCallContext } from './handlers.ts';
import type { GatewayPipe } from './pipe.ts';
import {
  type CallHead,
  type DoneHead,
  type LocatedHead,
  type LocateHead,
  type ModuleHead,
  type ModuleRefusal,
  mostFormBytes,
  type PreparedHead,
  type PrepareHead,
} from './protocol.ts';
import { GuestExit, type ToolFailure } from './wasi-handlers.ts';
import { linkToWorld, RUN_NAME, RUN_TYPE, requireGranted } from './world.ts';

/** The maximum number of pools, each of one owner and module; the least recently used is dropped first. */
const MOST_POOLS = 64;
/** What idle pools may keep, beside the guest that runs; the sandbox permits twice as much. */
const KEPT_BYTES = 256 * 1024 * 1024;

/** A module of unknown origin is validated completely; a form already was, by the engine that made it. */
const WHOLE_VALIDATION = '--no-wasm-lazy-validation';
const LAZY_VALIDATION = '--wasm-lazy-validation';

type Module = { readonly compiled: Promise<CompiledModule>; readonly isLinked: boolean };

type Prepared = { readonly head: PreparedHead; readonly bytes: Uint8Array };
type Done = { readonly head: DoneHead; readonly bytes: Uint8Array };

const FORM: Form = 'thread';
const FACTS: EngineFacts = { meter: METER_VERSION, form: FORM, isDeterministic: true };
const ALL_FUNCTIONS = ABI_FUNCTIONS.map(({ name }) => name);
const NO_BYTES = new Uint8Array(0);
const NO_USAGE: Usage = { fuelUsed: 0, isExact: false, peakMemoryBytes: 0 };
/** Messages contain names from the module, which may be of any length. */
const MOST_MESSAGE_CHARS = 2_000;

/** Modules and the pools of their guests. Each call has a guest of its own, in a pool that only its owner uses. */
export class GuestPool {
  readonly #engine: Engine;
  readonly #pipe: GatewayPipe;
  readonly #modules = new Map<string, Module>();
  readonly #pools = new Map<string, Pool>();

  constructor(pipe: GatewayPipe, most: { readonly memoryBytes: number; readonly tableElements: number }) {
    this.#pipe = pipe;
    // The limits come with the call.
    const limits = { ...most, fuel: CEILINGS.fuel };
    this.#engine = createEngine({
      form: FORM,
      deterministic: FACTS.isDeterministic,
      limits,
      totalMemoryBytes: most.memoryBytes + KEPT_BYTES,
    });
  }

  /** Makes the form of an unchecked module, metered with the prices of all functions of the ABI. */
  async prepare({ memoryBytes }: PrepareHead, module: Uint8Array): Promise<Prepared> {
    try {
      this.#requireMemory(memoryBytes);
      const isLinked = isComponent(module);
      const bytes = isLinked ? linkToWorld(module).bytes : module;
      setFlagsFromString(WHOLE_VALIDATION);
      const hosts = hostsOf(isLinked, ALL_FUNCTIONS);
      const compiled = await this.#engine.compile(bytes, { hosts, limits: { memoryBytes } });
      const { digest, seal } = compiled;
      const form = compiled.serialise();
      requireShort(form.length, mostFormBytes(module.length));
      return { head: { digest, seal, isComponent: isLinked }, bytes: form };
    } catch (error) {
      return { head: { refused: refusalOf(error) }, bytes: NO_BYTES };
    }
  }

  /** The lines of places in the form of a module, as far as the module says. A component says nothing. */
  locate({ memoryBytes, places }: LocateHead, module: Uint8Array): LocatedHead {
    const terms = { hosts: hostsOf(false, ALL_FUNCTIONS), limits: { memoryBytes } };
    const offsets = isComponent(module) ? places.map(() => null) : this.#engine.locate(module, places, terms);
    // No instruction is at the beginning of a module.
    return {
      lines: sourcePlaces(
        module,
        offsets.map((offset) => offset ?? 0),
      ),
    };
  }

  /** Accepts the form of a module; it is compiled when the first call needs it. */
  keep({ key, digest, seal, isComponent: isLinked }: ModuleHead, bytes: Uint8Array): void {
    setFlagsFromString(LAZY_VALIDATION);
    const compiled = this.#engine.revive(bytes, { digest, seal, isKept: false });
    // The call that needs it reports the error.
    compiled.catch(() => undefined);
    this.#modules.set(key, { compiled, isLinked });
  }

  async run(head: CallHead, input: Uint8Array): Promise<Done> {
    const context = newCallContext(head, this.#pipe);
    try {
      const pool = await this.#poolOf(head);
      const isLinked = this.#modules.get(head.key)?.isLinked === true;
      const { head: ended, bytes } = isLinked
        ? runComponent(pool, context, input)
        : exchange(pool, context, input);
      return { head: { ...ended, engine: FACTS }, bytes };
    } catch (error) {
      const refused = refusalOf(error);
      const { usage = NO_USAGE, frames = [], places = [] } = error as WasmError;
      const running = frames.length === 0 ? {} : { frames, places };
      const { isLogCut } = context;
      return {
        head: { ending: 'trapped', ...refused, ...usage, isLogCut, ...running, engine: FACTS },
        bytes: NO_BYTES,
      };
    }
  }

  async #poolOf(head: CallHead): Promise<Pool> {
    const { key, owner, functions } = head;
    const name = JSON.stringify([owner, key, functions]);
    const pool = this.#pools.get(name) ?? (await this.#open(head));
    // Moves it to the end: the most recently used is dropped last.
    this.#pools.delete(name);
    this.#pools.set(name, pool);
    return pool;
  }

  async #open({ key, functions }: CallHead): Promise<Pool> {
    const module = this.#modules.get(key);
    if (module === undefined) throw new WasmError('malformed', `Cannot run module: "${key}" was never sent`);
    const { isLinked } = module;
    const compiled = await module.compiled;
    if (isLinked) requireGranted(compiled.imports, functions);
    const hosts = hostsOf(isLinked, functions);
    if (this.#pools.size >= MOST_POOLS) this.#closeOldest();
    for (;;) {
      try {
        return this.#engine.pool(compiled, { size: 1, hosts });
      } catch (error) {
        // Boundary: idle pools never displace a guest that is to run.
        const isFull = error instanceof WasmError && error.code === 'memory';
        if (!isFull || !this.#closeOldest()) throw error;
      }
    }
  }

  /** A recorded call of another gateway, replayed here, may have had a higher limit. */
  #requireMemory(memoryBytes: number): void {
    const most = this.#engine.limits.memoryBytes;
    if (memoryBytes <= most) return;
    const message = `Cannot run module: its call may use ${memoryBytes} bytes of memory, expected at most ${most} here`;
    throw new WasmError('limit', message, { detail: 'memoryBytes' });
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

function hostsOf(isLinked: boolean, functions: readonly AbiName[]): HostTable {
  return isLinked ? worldHosts(functions) : hostTableOf(functions);
}

/** Boundary: a small file that becomes a large form, such as a module that is linked in repeatedly, is refused. */
function requireShort(bytes: number, most: number): void {
  if (bytes <= most) return;
  const message = `Cannot prepare module: its form has ${bytes} bytes, expected at most ${most}`;
  throw new WasmError('limit', message, { detail: 'formBytes' });
}

function exchange(pool: Pool, context: CallContext, input: Uint8Array): Done {
  const { tool, limits } = context.head;
  const { bytes, ...usage } = pool.exchange({ begin: ABI_BEGIN, room: ABI_ALLOC, work: tool }, input, {
    fuel: limits.fuel,
    mostBytes: limits.outputBytes,
    context,
  });
  const { failure, isLogCut } = context;
  const ending = failure === null ? 'returned' : 'failed';
  return { head: { ending, ...usage, isLogCut }, bytes: failure ?? bytes };
}

/** Why the engine refuses a module or ended a call; an internal fault is rethrown and ends the process. */
function refusalOf(error: unknown): ModuleRefusal {
  if (!(error instanceof WasmError)) throw error;
  const { code, message, detail } = error;
  return { code, message: cut(message), ...(detail === undefined ? {} : { detail: cut(detail) }) };
}

function cut(text: string): string {
  return text.slice(0, MOST_MESSAGE_CHARS);
}

type Returned =
  | { readonly tag: 'ok'; readonly value: string }
  | { readonly tag: 'error'; readonly value: ToolFailure };

/** Runs the tool of the call in a new guest; other endings are thrown as the engine throws them. */
export function runComponent(pool: Pool, context: CallContext, input: Uint8Array): Done {
  const { value: returned, ...usage } = visit(pool, context, Buffer.from(input).toString('utf8'));
  const { outputBytes } = context.head.limits;
  const used = { ...usage, isLogCut: context.isLogCut };
  if (returned.tag === 'ok') {
    return { head: { ending: 'returned', ...used }, bytes: Buffer.from(returned.value) };
  }
  const { code, message } = returned.value;
  const report = Buffer.from(JSON.stringify({ code, message }));
  // A report that exceeds the output limit counts as one without a reason.
  return { head: { ending: 'failed', ...used }, bytes: report.length > outputBytes ? NO_BYTES : report };
}

function visit(pool: Pool, context: CallContext, text: string): Usage & { readonly value: Returned } {
  const { tool, limits } = context.head;
  // Boundary: an output that a component declares as longer than allowed is not read.
  const run = { name: RUN_NAME, type: RUN_TYPE, mostBytes: limits.outputBytes };
  try {
    return pool.visit(
      { fuel: limits.fuel, context },
      (guest) => callLifted(guest, run, [tool, text]) as Returned,
    );
  } catch (error) {
    // A guest that exited has failed, with what it used until then; other errors are rethrown.
    const isExit = error instanceof WasmError && error.code === 'host' && error.cause instanceof GuestExit;
    if (!isExit || error.usage === undefined) throw error;
    return { ...error.usage, value: { tag: 'error', value: (error.cause as GuestExit).failure } };
  } finally {
    // Printed text without a trailing newline is not lost, however the call ended.
    context.printed.stdout?.end();
    context.printed.stderr?.end();
  }
}
