/**
 * Tier A: a module of WebAssembly in an engine process that holds no authority. The guest computes under fuel and memory
 * limits; what it wants done outside of itself the gateway does for it, under the grants of its tool. The time of a call
 * counts the wait for an engine and every answer; when it is over, the engine is ended and another takes its place.
 */
import type { Channels } from '../../channels/channels.ts';
import type { CheckedCall } from '../../core/checked-call.ts';
import type { Clock, Random } from '../../core/clock.ts';
import { CodedError } from '../../core/coded-error.ts';
import { digestBytes } from '../../core/digest.ts';
import { type Limits, NO_USAGE } from '../../core/limits.ts';
import type { WasmProgram } from '../../core/wasm.ts';
import type { Lookup } from '../../egress/look-up.ts';
import type { Own } from '../../egress/resolve.ts';
import { spend } from '../../policy/grant.ts';
import { recordingDigest } from '../../recordings/recordings.ts';
import type { Space } from '../../storage/space.ts';
import type { Recorded, RunEnding, RunResult, RunTies, Tier } from '../tier.ts';
import { endingOf, failed } from './ending.ts';
import type { EnginePool } from './engine-pool.ts';
import type { EngineCall, EngineEnd, EngineProcess } from './engine-process.ts';
import type { CallHead } from './engine-words.ts';
import { type GuestLog, newGuestLog } from './guest-log.ts';
import { countOf, functionsFor, newHostCalls } from './host-calls.ts';
import { orAborted } from './or-aborted.ts';
import { Recorder } from './recorder.ts';

export type WasmTierOptions = {
  readonly pool: EnginePool;
  readonly clock: Clock;
  readonly random: Random;
  /** The lookup of one call. */
  readonly newLookup: () => Lookup;
  readonly own: () => Own;
  readonly channels: Channels;
  /** The space of a tenant's skill, below these prefixes. */
  readonly openSpace: (who: Who, grant: WasmProgram['grants']['storage'][number]) => Space;
  readonly secret: (name: string, who: Who) => Promise<string | null>;
};

/** Whose call it is. */
export type Who = {
  readonly tenant: string;
  readonly principal: CheckedCall['call']['principal'];
  readonly skill: string;
  readonly call: string;
  readonly tool: string;
};

const SEED_BYTES = 32;
const LOG_BYTES = 64 * 1024;
const LOOKUP_MS = 5_000;

export function wasmTier(options: WasmTierOptions): Tier {
  return {
    run: async (grant, limits, ties) => {
      const checked = spend(grant);
      const { executor } = checked.tool;
      if (executor.kind !== 'wasm') throw new TypeError(`Cannot run ${checked.tool.id}: it is no module`);
      const log = newGuestLog(ties.onOutput, LOG_BYTES);
      return new WasmRun(options, { checked, program: executor.program, limits, log }).run(ties);
    },
  };
}

type StopCode = 'tier/timed-out' | 'tier/cancelled';

type Job = {
  readonly checked: CheckedCall;
  readonly program: WasmProgram;
  readonly limits: Limits;
  readonly log: GuestLog;
};

/** One call, from the wait for an engine to its result. */
class WasmRun {
  readonly #options: WasmTierOptions;
  readonly #job: Job;
  readonly #startedMs: number;
  readonly #recorder = new Recorder();
  #recorded: Recorded | null = null;
  #recording = 'none';
  #egressBytes = 0;
  #denied = 0;
  #stopped: StopCode | null = null;

  constructor(options: WasmTierOptions, job: Job) {
    this.#options = options;
    this.#job = job;
    this.#startedMs = options.clock.monotonicMs();
  }

  async run(ties: RunTies): Promise<RunResult> {
    const { pool } = this.#options;
    const bytes = await this.#module();
    if (bytes === null)
      return this.#result(
        failed('tier/invalid-module', 'Cannot run module: its bytes are not those that were approved'),
      );
    let engine: EngineProcess | null = null;
    const stop = new AbortController();
    const end = (why: StopCode) => {
      this.#stopped ??= why;
      stop.abort();
      engine?.end('the call was ended');
    };
    const timer = setTimeout(() => end('tier/timed-out'), this.#job.limits.wallMs);
    const onAbort = () => end('tier/cancelled');
    ties.signal.addEventListener('abort', onAbort, { once: true });
    if (ties.signal.aborted) onAbort();
    try {
      engine = await orAborted(pool.take(this.#who().tenant), stop.signal, (late) => pool.giveBack(late));
      if (engine === null || stop.signal.aborted) return this.#result(this.#stoppedEnding());
      return this.#concluded(await this.#runIn(engine, bytes, stop), engine);
    } catch (error) {
      if (!(error instanceof CodedError)) throw error;
      return this.#result(failed('tier/not-started', error.message));
    } finally {
      clearTimeout(timer);
      ties.signal.removeEventListener('abort', onAbort);
      stop.abort();
      if (engine !== null) pool.giveBack(engine);
    }
  }

  /** Boundary: what runs is what was approved, to the byte. */
  async #module(): Promise<Uint8Array | null> {
    const { program } = this.#job;
    const bytes = await program.read();
    return digestBytes(bytes) === program.sha256 ? bytes : null;
  }

  async #runIn(engine: EngineProcess, bytes: Uint8Array, stop: AbortController): Promise<EngineEnd> {
    const { clock, random, newLookup, own, channels, openSpace, secret } = this.#options;
    const { program } = this.#job;
    const { signal } = stop;
    const who = this.#who();
    const { grants } = program;
    const seat = joinChannels(channels, who, grants.channels);
    const spaces = grants.storage.map((each) => openSpace(who, each));
    // Boundary: each request has what the others of the call have left.
    const bytesLeft = () => this.#job.limits.egressBytes - this.#egressBytes;
    const onAsk = newHostCalls(grants, {
      http: {
        ...{ signal, clock, random, resolve: { lookup: newLookup(), own: own(), lookupMs: LOOKUP_MS } },
        get limits() {
          return { wireBytes: bytesLeft() };
        },
        onBytes: (count) => {
          this.#egressBytes += count;
        },
      },
      spaces,
      seat,
      secret: async (name) => {
        const value = await secret(name, who);
        const mayReveal = grants.secrets.some((each) => each.name === name && each.mayReveal);
        if (value !== null && mayReveal) this.#recorder.giveUp('it read a secret');
        return value;
      },
      signal,
      onDenied: () => {
        this.#denied += 1;
      },
    });
    let answering: Promise<unknown> = Promise.resolve();
    const answer = this.#recorder.around(onAsk);
    try {
      const call = this.#call(bytes);
      const end = await engine.run(call, {
        onAsk: (question) => {
          const answered = answer(question);
          answering = answered.catch(() => undefined);
          return answered;
        },
        onLog: this.#job.log.add,
      });
      if (end.kind === 'done') this.#keep(call);
      return end;
    } finally {
      // Boundary: what was under way when the call was ended is counted as well, and nothing is done after its receipt.
      stop.abort();
      await answering;
      seat?.close();
      for (const space of spaces) space.close();
    }
  }

  #keep({ head, module }: EngineCall): void {
    const recording = this.#recorder.recordingOf(head, this.#job.checked.inputText);
    if (typeof recording === 'string') {
      this.#recording = `none: ${recording}`;
      return;
    }
    this.#recorded = { recording, module: module.bytes };
    this.#recording = recordingDigest(recording);
  }

  #who(): Who {
    const { call, tool } = this.#job.checked;
    const { tenant, principal, id } = call;
    return { tenant, principal, skill: this.#job.program.skill, call: id, tool: tool.id };
  }

  #call(bytes: Uint8Array): EngineCall {
    const { checked, program, limits } = this.#job;
    const { grants, sha256 } = program;
    const head: CallHead = {
      key: sha256,
      owner: checked.call.tenant,
      tool: program.exportName,
      functions: functionsFor(grants),
      counts: {
        http: countOf(grants, 'http'),
        secret: countOf(grants, 'secret'),
        storage: countOf(grants, 'storage'),
        channel: countOf(grants, 'channel'),
      },
      limits: {
        fuel: limits.fuel,
        memoryBytes: limits.memoryBytes,
        outputBytes: limits.outputBytes,
        logBytes: LOG_BYTES,
      },
      startedMs: this.#options.clock.nowMs(),
      seed: Buffer.from(this.#options.random.bytes(SEED_BYTES)).toString('hex'),
      config: grants.config ?? {},
    };
    return { module: { key: sha256, bytes }, head, input: Buffer.from(checked.inputText) };
  }

  #concluded(end: EngineEnd, engine: EngineProcess): RunResult {
    if (end.kind === 'gone') {
      this.#job.log.end(false);
      const ending =
        this.#stopped === null
          ? failed('tier/unknown-ending', `Cannot finish call: the engine process is gone (${end.why})`)
          : this.#stoppedEnding();
      // Boundary: nobody can tell what it used, so it used all: to be ended is no way to compute for nothing.
      const facts = { fuelIsExact: false };
      return this.#result(ending, engine, { fuel: this.#job.limits.fuel, outputBytes: 0, facts });
    }
    const ending = endingOf(end.head, end.bytes, this.#job.limits.outputBytes);
    const { fuelUsed, peakMemoryBytes, isExact } = end.head;
    const isLogCut = this.#job.log.end(end.head.isLogCut);
    const facts = { fuelIsExact: isExact, peakMemoryBytes, isLogCut };
    return this.#result(ending, engine, { fuel: fuelUsed, outputBytes: end.bytes.length, facts });
  }

  #stoppedEnding(): RunEnding {
    if (this.#stopped === 'tier/cancelled')
      return failed('tier/cancelled', 'Cannot finish call: the caller cancelled it');
    return failed('tier/timed-out', `Cannot finish call: it passed ${this.#job.limits.wallMs} ms`);
  }

  #result(
    ending: RunEnding,
    engine: EngineProcess | null = null,
    used: {
      readonly fuel: number;
      readonly outputBytes: number;
      readonly facts: Readonly<Record<string, number | boolean>>;
    } = { fuel: 0, outputBytes: 0, facts: {} },
  ): RunResult {
    const wallMs = Math.ceil(this.#options.clock.monotonicMs() - this.#startedMs);
    const { fuel, outputBytes, facts } = used;
    return {
      ending,
      usage: { ...NO_USAGE, calls: 1, wallMs, fuel, outputBytes, egressBytes: this.#egressBytes },
      execution: {
        tier: 'a',
        executor: 'palisade-wasm',
        isolation: {
          boundary: engine === null ? 'never started' : 'engine process',
          ...prefixed(engine?.isolation ?? {}),
          ...facts,
          hostCallsDenied: this.#denied,
          recording: this.#recording,
        },
      },
      ...(this.#recorded === null ? {} : { recorded: this.#recorded }),
    };
  }
}

function joinChannels(channels: Channels, who: Who, granted: WasmProgram['grants']['channels']) {
  const { tenant, principal, skill } = who;
  const named = (act: 'publish' | 'receive') => granted.filter((each) => each[act]).map(({ name }) => name);
  return channels.join({
    ...{ tenant, sender: { principal, skill } },
    ...{ publish: named('publish'), receive: named('receive') },
  });
}

function prefixed(
  facts: Readonly<Record<string, string | number | boolean>>,
): Record<string, string | number | boolean> {
  return Object.fromEntries(Object.entries(facts).map(([name, value]) => [`engine.${name}`, value]));
}
