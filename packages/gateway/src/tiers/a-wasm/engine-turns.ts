/**
 * Decides which guest computes in an engine, and when: a fixed number at the same time, with tenants taking turns
 * however many calls one has. A guest that waits for an answer computes nothing: after a while its turn ends, and with
 * its answer it waits for the next one. It keeps its engine until then, so the engines of one tenant are bounded.
 */
import type { Clock } from '../../core/clock.ts';
import { CodedError } from '../../core/coded-error.ts';
import type { EngineProcess, RequestTurns } from './engine-process.ts';

type TurnOptions = {
  readonly size: number;
  /** Engines that one tenant may have calls in. */
  readonly mostOfOne: number;
  readonly clock: Pick<Clock, 'monotonicMs'>;
  readonly takeIdle: (owner: string) => EngineProcess | null;
  readonly hasIdle: (owner: string) => boolean;
  readonly onCall: (waitedMs: number) => void;
  /** Called when a turn becomes free, or a guest waits for one. */
  readonly onChange: () => void;
};

type WaitingCall = {
  readonly sinceMs: number;
  readonly take: (engine: EngineProcess) => void;
  readonly refuse: (error: unknown) => void;
};

type HeldEngine = {
  readonly tenant: Tenant;
  isPaused: boolean;
  /** How long its guest has waited in this turn, and since when it has been waiting. */
  waitedMs: number;
  requestedMs: number;
  patience: NodeJS.Timeout | undefined;
  goOn: () => void;
};

type Tenant = {
  readonly owner: string;
  readonly calls: Set<WaitingCall>;
  /** Engines whose guest has its answer and waits for a turn. */
  readonly returning: Set<HeldEngine>;
  /** Engines that are running a call, and those of them that are not paused. */
  held: number;
  computing: number;
};

/** How long a guest may wait for answers within one turn. */
const PATIENCE_MS = 20;
/** The maximum of waiting calls, overall and per tenant. */
const MOST_WAITING = 4_096;
const MOST_WAITING_OF_ONE = 2_048;

export class EngineTurns {
  readonly #options: TurnOptions;
  /** In order of turns: the next tenant comes first. */
  readonly #tenants = new Map<string, Tenant>();
  readonly #held = new Map<EngineProcess, HeldEngine>();
  #waiting = 0;
  #computing = 0;

  constructor(options: TurnOptions) {
    this.#options = options;
  }

  /** Waiting calls, engines that are running a call, and those of them whose guest waits for an answer. */
  get census(): { readonly waiting: number; readonly busy: number; readonly paused: number } {
    return { waiting: this.#waiting, busy: this.#held.size, paused: this.#held.size - this.#computing };
  }

  async wait(owner: string, signal?: AbortSignal): Promise<EngineProcess> {
    if (signal?.aborted === true) throw hasLeft();
    // Boundary: when thousands wait, further calls are refused at no cost; nor can one tenant fill the queue.
    if (this.#waiting >= MOST_WAITING) throw isCrowded(`${MOST_WAITING} calls`);
    if ((this.#tenants.get(owner)?.calls.size ?? 0) >= MOST_WAITING_OF_ONE)
      throw isCrowded(`${MOST_WAITING_OF_ONE} calls of this tenant`);
    const tenant = this.#tenantOf(owner);
    return new Promise((resolve, reject) => {
      const onAbort = () => {
        this.#takeOut(tenant, call);
        reject(hasLeft());
      };
      const call: WaitingCall = {
        sinceMs: this.#options.clock.monotonicMs(),
        take: (engine) => {
          signal?.removeEventListener('abort', onAbort);
          resolve(engine);
        },
        refuse: (error) => {
          signal?.removeEventListener('abort', onAbort);
          reject(error);
        },
      };
      signal?.addEventListener('abort', onAbort, { once: true });
      tenant.calls.add(call);
      this.#waiting += 1;
      this.#options.onChange();
    });
  }

  hasCallsOf(owner: string): boolean {
    return (this.#tenants.get(owner)?.calls.size ?? 0) > 0;
  }

  /** The call is over and its engine is free. False where it was not running a call. */
  release(engine: EngineProcess): boolean {
    const held = this.#held.get(engine);
    if (held === undefined) return false;
    const { tenant } = held;
    clearTimeout(held.patience);
    if (!held.isPaused) this.#leave(held);
    this.#held.delete(engine);
    tenant.returning.delete(held);
    tenant.held -= 1;
    this.#forget(tenant);
    return true;
  }

  /** Lets as many guests start or continue as turns and engines permit. */
  serve(): void {
    while (this.#computing < this.#options.size) {
      const held = this.#next();
      if (held === null) return;
      const { tenant } = held;
      held.isPaused = false;
      held.waitedMs = 0;
      tenant.computing += 1;
      this.#computing += 1;
      // Its next turn comes after those of all other tenants.
      this.#tenants.delete(tenant.owner);
      this.#tenants.set(tenant.owner, tenant);
      held.goOn();
    }
  }

  /** How many more engines could be used now. A tenant with none computing gets one, so that its turn is not lost. */
  wanted(): number {
    let sum = 0;
    for (const tenant of this.#tenants.values()) sum += this.#wantedBy(tenant);
    return sum;
  }

  refuseFirst(error: unknown): void {
    for (const tenant of this.#tenants.values()) {
      const [call] = tenant.calls;
      if (call === undefined || this.#wantedBy(tenant) === 0) continue;
      this.#takeOut(tenant, call);
      call.refuse(error);
      return;
    }
  }

  refuseAll(error: unknown): void {
    for (const tenant of [...this.#tenants.values()])
      for (const call of [...tenant.calls]) {
        this.#takeOut(tenant, call);
        call.refuse(error);
      }
  }

  requestTurns(engine: EngineProcess): RequestTurns {
    return { onRequest: () => this.#onRequest(engine), onAnswer: () => this.#onAnswer(engine) };
  }

  #onRequest(engine: EngineProcess): void {
    const held = this.#held.get(engine);
    if (held === undefined) return;
    const leftMs = PATIENCE_MS - held.waitedMs;
    held.requestedMs = this.#options.clock.monotonicMs();
    // Boundary: short waits add up, so a turn cannot be held in slices.
    if (leftMs <= 0) this.#pause(held);
    else held.patience = setTimeout(() => this.#pause(held), leftMs);
  }

  #onAnswer(engine: EngineProcess): Promise<void> | undefined {
    const held = this.#held.get(engine);
    if (held === undefined) return undefined;
    clearTimeout(held.patience);
    held.waitedMs += this.#options.clock.monotonicMs() - held.requestedMs;
    if (!held.isPaused) return undefined;
    return new Promise((goOn) => {
      held.goOn = goOn;
      held.tenant.returning.add(held);
      this.#options.onChange();
    });
  }

  #pause(held: HeldEngine): void {
    held.isPaused = true;
    this.#leave(held);
    this.#options.onChange();
  }

  #leave({ tenant }: HeldEngine): void {
    tenant.computing -= 1;
    this.#computing -= 1;
  }

  #next(): HeldEngine | null {
    for (const tenant of this.#tenants.values()) {
      // Calls that have started come before those that have not.
      const [returning] = tenant.returning;
      if (returning !== undefined) {
        tenant.returning.delete(returning);
        return returning;
      }
      const begun = this.#begin(tenant);
      if (begun !== null) return begun;
    }
    return null;
  }

  #begin(tenant: Tenant): HeldEngine | null {
    const [call] = tenant.calls;
    // Boundary: a tenant whose guests wait in half of all engines gets no more of them.
    if (call === undefined || tenant.held >= this.#options.mostOfOne) return null;
    const engine = this.#options.takeIdle(tenant.owner);
    if (engine === null) return null;
    engine.owner = tenant.owner;
    tenant.held += 1;
    const goOn = () => call.take(engine);
    const held = { tenant, isPaused: true, waitedMs: 0, requestedMs: 0, patience: undefined, goOn };
    this.#held.set(engine, held);
    this.#takeOut(tenant, call);
    this.#options.onCall(this.#options.clock.monotonicMs() - call.sinceMs);
    return held;
  }

  #wantedBy({ owner, calls, held, computing }: Tenant): number {
    const { size, mostOfOne, hasIdle } = this.#options;
    if (calls.size === 0 || hasIdle(owner)) return 0;
    const atLeast = computing === 0 ? 1 : 0;
    const most = Math.max(atLeast, size - this.#computing);
    return Math.max(0, Math.min(calls.size, mostOfOne - held, most));
  }

  #tenantOf(owner: string): Tenant {
    const known = this.#tenants.get(owner);
    if (known !== undefined) return known;
    const calls = new Set<WaitingCall>();
    const tenant: Tenant = { owner, calls, returning: new Set<HeldEngine>(), held: 0, computing: 0 };
    this.#tenants.set(owner, tenant);
    return tenant;
  }

  #takeOut(tenant: Tenant, call: WaitingCall): void {
    if (tenant.calls.delete(call)) this.#waiting -= 1;
    this.#forget(tenant);
  }

  /** Nothing is kept of a tenant without a call. */
  #forget({ owner, calls, held }: Tenant): void {
    if (calls.size === 0 && held === 0) this.#tenants.delete(owner);
  }
}

function hasLeft(): CodedError {
  return new CodedError('tier/cancelled', 'Cannot run module: the call was over before an engine was free');
}

function isCrowded(who: string): CodedError {
  const remedy = 'Call again when fewer calls run at once.';
  return new CodedError('tier/not-started', `Cannot run module: ${who} wait for an engine`, { remedy });
}
