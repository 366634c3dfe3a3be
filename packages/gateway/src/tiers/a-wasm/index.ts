/**
 * Tier A: a module of WebAssembly in an engine process that holds no authority. The guest computes under fuel and memory
 * limits; what it wants done outside of itself the gateway does for it, under the grants of its tool. The time of a call
 * counts the reading of its module, the wait for an engine and every answer; when it is over, the engine is ended and
 * another takes its place.
 */
import type { Channels } from '../../channels/channels.ts';
import type { CheckedCall } from '../../core/checked-call.ts';
import type { Clock, Random } from '../../core/clock.ts';
import { CodedError, Withdrawn } from '../../core/coded-error.ts';
import { NO_USAGE } from '../../core/limits.ts';
import type { EngineFacts } from '../../core/recording.ts';
import type { SecretGrant, WasmProgram } from '../../core/wasm.ts';
import type { FetchTerms } from '../../egress/fetch/fetch-terms.ts';
import type { Lookup } from '../../egress/look-up.ts';
import type { Own } from '../../egress/resolve.ts';
import { spend } from '../../policy/grant.ts';
import { type Written, writeDown } from '../../recordings/recordings.ts';
import type { Space } from '../../storage/space.ts';
import { type RunContext, type RunEnding, type RunResult, type Tier, TierFault } from '../tier.ts';
import { headOf, LOG_BYTES, type WasmJob } from './call-head.ts';
import { CallNetwork } from './call-network.ts';
import { openRooms } from './call-rooms.ts';
import { endingOf, failed, refusedEnding } from './ending.ts';
import type { EnginePool } from './engine-pool.ts';
import type { EngineCall, EngineEnd, EngineProcess } from './engine-process.ts';
import type { CallHead } from './engine-words.ts';
import type { Form } from './forms.ts';
import { type GuestLog, newGuestLog } from './guest-log.ts';
import type { OperatorSecrets } from './host-secrets.ts';
import { ModuleShelf } from './module-shelf.ts';
import { type Interrupted, OpenQuestion } from './open-question.ts';
import { orAborted } from './or-aborted.ts';
import type { ReadyModules } from './ready-modules.ts';
import { Recorder } from './recorder.ts';

export type WasmTierOptions = {
  readonly pool: EnginePool;
  readonly ready: ReadyModules;
  readonly clock: Clock;
  readonly random: Random;
  /** The lookup of one call. */
  readonly newLookup: () => Lookup;
  readonly own: () => Own;
  /** The authorities that targets are verified with; without, those that Node trusts. */
  readonly trust?: FetchTerms['trust'];
  readonly channels: Channels;
  /** The space of a tenant's skill, below these prefixes. */
  readonly openSpace: (who: Who, grant: WasmProgram['grants']['storage'][number]) => Space;
  /** The value of a secret that was granted; null where the call has none such. */
  readonly secret: (granted: Pick<SecretGrant, 'name' | 'scope'>, who: Who) => Promise<string | null>;
  readonly operatorSecrets: OperatorSecrets;
};

/** Whose call it is. */
export type Who = {
  readonly tenant: string;
  readonly principal: CheckedCall['call']['principal'];
  readonly skill: string;
  readonly call: string;
  readonly tool: string;
};

export function wasmTier(options: WasmTierOptions): Tier {
  const modules = new ModuleShelf();
  return {
    run: async (grant, limits, context) => {
      const checked = spend(grant);
      const { executor } = checked.tool;
      if (executor.kind !== 'wasm') throw new TypeError(`Cannot run ${checked.tool.id}: it is no module`);
      const log = newGuestLog(context.onOutput, LOG_BYTES);
      const job = { checked, program: executor.program, limits, log };
      return new WasmRun({ ...options, modules }, job).run(context);
    },
  };
}

type RunOptions = WasmTierOptions & { readonly modules: ModuleShelf };
type LoggedJob = WasmJob & { readonly log: GuestLog };
type StopCode = 'tier/timed-out' | 'tier/cancelled' | 'tier/withdrawn';
type Facts = Readonly<Record<string, string | number | boolean>>;
type Used = { readonly fuel: number; readonly outputBytes: number; readonly facts: Facts };

const NOTHING_USED: Used = { fuel: 0, outputBytes: 0, facts: {} };

/** One call, from the reading of its module to its result. */
class WasmRun {
  readonly #options: RunOptions;
  readonly #job: LoggedJob;
  readonly #startedMs: number;
  readonly #recorder: Recorder;
  readonly #network: CallNetwork;
  #engine: EngineProcess | null = null;
  #hasBegun = false;
  #written: Written | string = 'none';
  #interrupted: Interrupted | null = null;
  #denied = 0;
  #stopped: StopCode | null = null;

  constructor(options: RunOptions, job: LoggedJob) {
    const { isRecorded = true, grants } = job.program;
    this.#options = options;
    this.#job = job;
    this.#startedMs = options.clock.monotonicMs();
    this.#recorder = new Recorder(isRecorded);
    this.#network = new CallNetwork(grants.http.filter((entry) => entry !== null));
  }

  async run(context: RunContext): Promise<RunResult> {
    const { pool } = this.#options;
    const stop = new AbortController();
    const end = (why: StopCode) => {
      this.#stopped ??= why;
      stop.abort();
      this.#engine?.end('the call was ended');
    };
    const timer = setTimeout(() => end('tier/timed-out'), this.#job.limits.wallMs);
    const onAbort = () =>
      end(context.signal.reason instanceof Withdrawn ? 'tier/withdrawn' : 'tier/cancelled');
    context.signal.addEventListener('abort', onAbort, { once: true });
    if (context.signal.aborted) onAbort();
    try {
      const bytes = await this.#module(stop.signal);
      if ('status' in bytes) return this.#result(bytes);
      const form = await this.#form(bytes, stop.signal);
      if ('status' in form) return this.#result(form);
      const { tenant } = this.#job.checked.call;
      this.#engine = await pool.take(tenant, stop.signal);
      if (stop.signal.aborted) return this.#result(this.#stoppedEnding());
      return this.#concluded(await this.#runIn(this.#engine, { bytes, form }, stop));
    } catch (error) {
      if (error instanceof CodedError && this.#engine === null)
        return this.#result(this.#unstartedEnding(error));
      throw new TierFault(error, this.#soFar(this.#hasBegun ? this.#allUsed() : NOTHING_USED));
    } finally {
      clearTimeout(timer);
      context.signal.removeEventListener('abort', onAbort);
      stop.abort();
      if (this.#engine !== null) pool.giveBack(this.#engine);
    }
  }

  /** The bytes that run, or how the call ends without them. */
  async #module(signal: AbortSignal): Promise<Uint8Array | RunEnding> {
    const { modules } = this.#options;
    const taking = modules.take(this.#job.program).then(
      (bytes) => bytes ?? failed('tier/invalid-module', NOT_APPROVED),
      () => failed('tier/not-started', 'Cannot run module: its bytes cannot be read'),
    );
    return (await orAborted(taking, signal, () => undefined)) ?? this.#stoppedEnding();
  }

  /** What engines take in the place of the bytes, or how the call ends without it. */
  async #form(bytes: Uint8Array, signal: AbortSignal): Promise<Form | RunEnding> {
    const { program, limits, checked } = this.#job;
    const { tenant } = checked.call;
    const wanted = { tenant, sha256: program.sha256, memoryBytes: limits.memoryBytes, bytes };
    // Also a disk that does not answer holds no call beyond its time.
    const end = await orAborted(this.#options.ready.take(wanted, signal), signal, () => undefined);
    if (end?.kind === 'prepared') return end.form;
    if (end === null || this.#stopped !== null) return this.#stoppedEnding();
    if (end.kind === 'refused') return refusedEnding(end.refused);
    const why = `Cannot make module ready: the engine process is gone (${end.why})`;
    return failed('tier/invalid-module', why);
  }

  async #runIn(
    engine: EngineProcess,
    { bytes, form }: { readonly bytes: Uint8Array; readonly form: Form },
    stop: AbortController,
  ): Promise<EngineEnd> {
    const { checked, program, limits, log } = this.#job;
    const { clock, random } = this.#options;
    const question = new OpenQuestion();
    const rooms = openRooms(this.#options, program.grants, {
      ...{ who: this.#who(), signal: stop.signal, egressBytes: limits.egressBytes },
      ...{ network: this.#network, recorder: this.#recorder },
      onDenied: () => {
        this.#denied += 1;
      },
    });
    const head = headOf(this.#job, clock, random);
    const call: EngineCall = {
      ...{ module: { key: head.key, form }, head },
      input: Buffer.from(checked.inputText),
    };
    this.#hasBegun = true;
    try {
      const end = await engine.run(call, { onAsk: question.around(rooms.answer), onLog: log.add });
      if (end.kind === 'done') this.#keep(head, bytes, end.head.engine);
      return end;
    } finally {
      // Boundary: what was under way when the call was ended is counted as well, and nothing is done after its receipt.
      const leaving = question.leave();
      stop.abort();
      this.#interrupted = await leaving;
      rooms.close();
    }
  }

  #keep(head: CallHead, module: Uint8Array, engine: EngineFacts | undefined): void {
    const { checked, program } = this.#job;
    const ran = { module: program.sha256, input: checked.inputText };
    const recording = this.#recorder.recordingOf(ran, head, engine);
    this.#written = typeof recording === 'string' ? `none: ${recording}` : writeDown({ recording, module });
  }

  #who(): Who {
    const { call, tool } = this.#job.checked;
    const { tenant, principal, id } = call;
    return { tenant, principal, skill: this.#job.program.skill, call: id, tool: tool.id };
  }

  #concluded(end: EngineEnd): RunResult {
    const { log, limits } = this.#job;
    if (end.kind === 'gone') {
      log.end(false);
      const ending =
        this.#stopped === null
          ? failed('tier/unknown-ending', `Cannot finish call: the engine process is gone (${end.why})`)
          : this.#stoppedEnding();
      return this.#result(ending, this.#allUsed());
    }
    const { fuelUsed, peakMemoryBytes, isExact } = end.head;
    const isLogCut = log.end(end.head.isLogCut);
    const facts = { fuelIsExact: isExact, peakMemoryBytes, isLogCut };
    const used = { fuel: fuelUsed, outputBytes: end.bytes.length, facts };
    return this.#result(endingOf(end.head, end.bytes, limits.outputBytes), used);
  }

  /** Boundary: nobody can tell what it used, so it used all: to be ended is no way to compute for nothing. */
  #allUsed(): Used {
    return { fuel: this.#job.limits.fuel, outputBytes: 0, facts: { fuelIsExact: false } };
  }

  /** No engine was had: it waited for one until it was stopped, or none could be started. */
  #unstartedEnding({ message }: CodedError): RunEnding {
    return this.#stopped === null ? failed('tier/not-started', message) : this.#stoppedEnding();
  }

  #stoppedEnding(): RunEnding {
    if (this.#stopped === 'tier/withdrawn')
      return failed('tier/withdrawn', 'Cannot finish call: its skill was taken out of use while it ran');
    if (this.#stopped === 'tier/cancelled')
      return failed('tier/cancelled', 'Cannot finish call: the caller cancelled it');
    return failed('tier/timed-out', `Cannot finish call: it passed ${this.#job.limits.wallMs} ms`);
  }

  #result(ending: RunEnding, used: Used = NOTHING_USED): RunResult {
    return { ending, ...this.#soFar(used) };
  }

  #soFar({ fuel, outputBytes, facts }: Used): Omit<RunResult, 'ending'> {
    const wallMs = Math.ceil(this.#options.clock.monotonicMs() - this.#startedMs);
    const network = this.#hasBegun ? this.#network.report() : null;
    const written = this.#written;
    const interrupted = this.#interrupted;
    return {
      usage: { ...NO_USAGE, calls: 1, wallMs, fuel, outputBytes, egressBytes: this.#network.bytes },
      execution: {
        ...{ tier: 'a', executor: 'palisade-wasm' },
        isolation: {
          boundary: this.#engine === null ? 'never started' : 'engine process',
          ...prefixed(this.#engine?.isolation ?? {}),
          ...network?.isolation,
          ...facts,
          hostCallsDenied: this.#denied,
          ...(interrupted === null
            ? {}
            : { interrupted: interrupted.name, interruptedFate: interrupted.fate }),
          // The digest of one that is there is added by whoever saves it.
          ...(typeof written === 'string' ? { recording: written } : {}),
        },
      },
      ...(network === null || network.record === null ? {} : { egress: network.record }),
      ...(typeof written === 'string' ? {} : { recorded: written }),
    };
  }
}

const NOT_APPROVED = 'Cannot run module: its bytes are not those that were approved';

function prefixed(facts: Facts): Facts {
  return Object.fromEntries(Object.entries(facts).map(([name, value]) => [`engine.${name}`, value]));
}
