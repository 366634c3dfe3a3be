/** One call of a module, from reading its bytes to its result. */
import type { CallLog, TrapFrame } from '../../core/call-log.ts';
import { CodedError, Withdrawn } from '../../core/coded-error.ts';
import { NO_USAGE } from '../../core/limits.ts';
import type { EngineFacts } from '../../core/recording.ts';
import type { AnswerRequest } from '../../core/wasm.ts';
import { type Written, writeDown } from '../../recordings/recordings.ts';
import { newScrubber } from '../../vault/scrub.ts';
import { type RunContext, type RunEnding, type RunResult, TierFault } from '../tier.ts';
import { CallNetwork } from './call-network.ts';
import { Denials } from './denials.ts';
import { endingOf, failed, isTrap, refusedEnding } from './ending.ts';
import type { CallHead } from './engine/protocol.ts';
import { ENDS } from './engine-counts.ts';
import type { EngineCall, EngineEnd, EngineProcess } from './engine-process.ts';
import type { GuestLog } from './guest-log.ts';
import { openHostFunctions } from './host-functions.ts';
import type { CallIdentity, WasmTierOptions } from './index.ts';
import { abortable, type Form, type ModuleCache } from './modules.ts';
import { headOf, type WasmJob } from './plan.ts';
import { type Interrupted, PendingRequest, Recorder } from './recorder.ts';
import { trapOf } from './trap.ts';

type RunOptions = WasmTierOptions & { readonly modules: ModuleCache };
type LoggedJob = WasmJob & { readonly log: GuestLog };
type StopCode = 'tier/timed-out' | 'tier/cancelled' | 'tier/withdrawn';
type Facts = Readonly<Record<string, string | number | boolean>>;
type Used = { readonly fuel: number; readonly outputBytes: number; readonly facts: Facts };

const NOTHING_USED: Used = { fuel: 0, outputBytes: 0, facts: {} };

export class WasmRun {
  readonly #options: RunOptions;
  readonly #job: LoggedJob;
  readonly #startedMs: number;
  readonly #recorder: Recorder;
  readonly #network: CallNetwork;
  /** In a test: answers requests, and counts them. */
  readonly #answerRequest: AnswerRequest | null;
  #answered = 0;
  #engine: EngineProcess | null = null;
  #hasBegun = false;
  #written: Written | string = 'none';
  #interrupted: Interrupted | null = null;
  readonly #denials: Denials;
  readonly #secrets = new Map<string, string>();
  #trap: readonly TrapFrame[] = [];
  #denied = 0;
  #stopped: StopCode | null = null;

  constructor(options: RunOptions, job: LoggedJob) {
    const { isRecorded = true, grants, skill, answerRequest } = job.program;
    this.#options = options;
    this.#job = job;
    this.#startedMs = options.clock.monotonicMs();
    this.#recorder = new Recorder(isRecorded);
    this.#denials = new Denials(job.checked.tool.skill === undefined ? null : skill);
    this.#network = new CallNetwork(grants.http.filter((entry) => entry !== null));
    this.#answerRequest =
      answerRequest === undefined
        ? null
        : (asked) => {
            this.#answered += 1;
            return answerRequest(asked);
          };
  }

  async run(context: RunContext): Promise<RunResult> {
    const { pool } = this.#options;
    const stop = new AbortController();
    const end = (why: StopCode) => {
      this.#stopped ??= why;
      stop.abort();
      this.#engine?.end(ENDS.stopped);
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
      const end = await this.#runIn(this.#engine, { bytes, form }, stop);
      if (end.kind === 'done')
        this.#trap = await trapOf(this.#engine, end.head, {
          bytes,
          memoryBytes: this.#job.limits.memoryBytes,
        });
      return this.#concluded(end);
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
    return (await abortable(taking, signal)) ?? this.#stoppedEnding();
  }

  /** The form that engines take, or how the call ends without it. */
  async #form(bytes: Uint8Array, signal: AbortSignal): Promise<Form | RunEnding> {
    const { program, limits, checked } = this.#job;
    const { tenant } = checked.call;
    const wanted = { tenant, sha256: program.sha256, memoryBytes: limits.memoryBytes, bytes };
    // Not even an unresponsive disk can delay a call beyond its time limit.
    const end = await abortable(this.#options.ready.take(wanted, signal), signal);
    if (end?.kind === 'prepared') return end.form;
    if (end === null || this.#stopped !== null) return this.#stoppedEnding();
    if (end.kind === 'refused') return refusedEnding(end.refused);
    const why = `Cannot prepare module: the engine process is gone (${end.why})`;
    return failed('tier/invalid-module', why);
  }

  async #runIn(
    engine: EngineProcess,
    { bytes, form }: { readonly bytes: Uint8Array; readonly form: Form },
    stop: AbortController,
  ): Promise<EngineEnd> {
    const { checked, program, limits, log } = this.#job;
    const { clock, random } = this.#options;
    const pending = new PendingRequest();
    const host = openHostFunctions(this.#options, program.grants, {
      identity: this.#identity(),
      signal: stop.signal,
      egressBytes: limits.egressBytes,
      network: this.#network,
      recorder: this.#recorder,
      denials: this.#denials,
      answerRequest: this.#answerRequest,
      onDenied: () => {
        this.#denied += 1;
      },
      onSecret: (name, value) => this.#secrets.set(name, value),
    });
    const head = headOf(this.#job, clock, random);
    const call: EngineCall = {
      module: { key: head.key, form },
      head,
      input: Buffer.from(checked.inputText),
    };
    this.#hasBegun = true;
    try {
      const end = await engine.run(call, { onRequest: pending.around(host.answer), onLog: log.add });
      if (end.kind === 'done') this.#keep(head, bytes, end.head.engine);
      return end;
    } finally {
      // Boundary: what was pending when the call ended is counted too, and nothing happens after its receipt.
      const leaving = pending.leave();
      stop.abort();
      this.#interrupted = await leaving;
      host.close();
    }
  }

  #keep(head: CallHead, module: Uint8Array, engine: EngineFacts | undefined): void {
    const { checked, program } = this.#job;
    const ran = { module: program.sha256, input: checked.inputText };
    const recording = this.#recorder.recordingOf(ran, head, engine);
    this.#written = typeof recording === 'string' ? `none: ${recording}` : writeDown({ recording, module });
  }

  #identity(): CallIdentity {
    const { call, tool } = this.#job.checked;
    const { tenant, principal, id } = call;
    const { skill, isAlone = false } = this.#job.program;
    return { tenant, principal, skill, isAlone, call: id, tool: tool.id };
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
    const result = this.#result(endingOf(end.head, end.bytes, limits.outputBytes, this.#trap), used);
    return isTrap(end.head) ? { ...result, isTrap: true } : result;
  }

  /** Boundary: what it used is unknown, so all is charged: a guest cannot compute for free by crashing its engine. */
  #allUsed(): Used {
    return { fuel: this.#job.limits.fuel, outputBytes: 0, facts: { fuelIsExact: false } };
  }

  /** It never had an engine: it was stopped while it waited for one, or none could be started. */
  #unstartedEnding({ message }: CodedError): RunEnding {
    return this.#stopped === null ? failed('tier/not-started', message) : this.#stoppedEnding();
  }

  #stoppedEnding(): RunEnding {
    if (this.#stopped === 'tier/withdrawn')
      return failed('tier/withdrawn', 'Cannot finish call: its skill was taken out of use while it ran');
    if (this.#stopped === 'tier/cancelled')
      return failed('tier/cancelled', 'Cannot finish call: the caller cancelled it');
    return failed('tier/timed-out', `Cannot finish call: it took longer than ${this.#job.limits.wallMs} ms`);
  }

  /** Boundary: a guest that was given a secret may log it; what is kept does not have it. */
  #log(): CallLog {
    const { lines, isCut } = this.#job.log.kept();
    const secrets = [...this.#secrets].map(([name, value]) => ({ name, value: Buffer.from(value) }));
    const scrub = newScrubber(secrets);
    return {
      lines: lines.map(({ level, text }) => ({ level, text: scrub(text) })),
      ...{ isCut, denied: this.#denials.list, deniedMore: this.#denials.more, trap: this.#trap },
    };
  }

  #result(ending: RunEnding, used: Used = NOTHING_USED): RunResult {
    return { ending, ...this.#soFar(used) };
  }

  #soFar({ fuel, outputBytes, facts }: Used): Omit<RunResult, 'ending'> {
    const wallMs = Math.ceil(this.#options.clock.monotonicMs() - this.#startedMs);
    // Boundary: in a test nothing was on a network, and a receipt must not read as if something was.
    const isTest = this.#answerRequest !== null;
    const network = this.#hasBegun && !isTest ? this.#network.report() : null;
    const written = this.#written;
    const interrupted = this.#interrupted;
    return {
      usage: { ...NO_USAGE, calls: 1, wallMs, fuel, outputBytes, egressBytes: this.#network.bytes },
      execution: {
        tier: 'a',
        executor: 'palisade-wasm',
        isolation: {
          boundary: this.#engine === null ? 'never started' : 'engine process',
          ...prefixed(this.#engine?.isolation ?? {}),
          ...network?.isolation,
          ...facts,
          ...(isTest ? { requestsAnsweredByFixtures: this.#answered } : {}),
          hostCallsDenied: this.#denied,
          ...(interrupted === null
            ? {}
            : { interrupted: interrupted.name, interruptedFate: interrupted.fate }),
          // The digest of a recording is added when it is saved.
          ...(typeof written === 'string' ? { recording: written } : {}),
        },
      },
      ...(this.#hasBegun ? { log: this.#log() } : {}),
      ...(network === null || network.record === null ? {} : { egress: network.record }),
      ...(typeof written === 'string' ? {} : { recorded: written }),
    };
  }
}

const NOT_APPROVED = 'Cannot run module: its bytes are not those that were approved';

function prefixed(facts: Facts): Facts {
  return Object.fromEntries(Object.entries(facts).map(([name, value]) => [`engine.${name}`, value]));
}
