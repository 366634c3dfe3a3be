import { CodedError } from '../../core/coded-error.ts';
import { formatPrincipal } from '../../core/principal.ts';
import type { OfferStatus, Requester } from './pinning.ts';
import type { Session } from './session.ts';

/** An open session, and how the offer of its server compared when it opened. */
export type OpenSession = { readonly session: Session; readonly status: OfferStatus };

export type SessionsOptions = {
  readonly start: (upstream: string, requester: Requester) => Session;
  /** A session that is unused for this long is ended. */
  readonly idleMs: number;
  /** The maximum number of sessions. */
  readonly most: number;
  /** How long a session can live; what a call may still need has to fit. */
  readonly lifeMs: number;
  readonly monotonicMs: () => number;
};

type Kept = {
  readonly upstream: string;
  readonly opened: Promise<OpenSession>;
  readonly session: Session;
  users: number;
  lastUsedMs: number;
  timer: NodeJS.Timeout | undefined;
};

/**
 * The sessions of a gateway: one for each server, tenant and principal, so that no principal shares a process with
 * another. Each ends when it has been idle for a while, or when its server must not run.
 */
export class Sessions {
  readonly #options: SessionsOptions;
  readonly #kept = new Map<string, Kept>();
  readonly #all = new Set<Session>();
  #isClosed = false;

  constructor(options: SessionsOptions) {
    this.#options = options;
  }

  /** Uses the session of this principal; starts a new one where none has enough time left. */
  async use<T>(
    upstream: string,
    requester: Requester,
    neededMs: number,
    work: (opened: OpenSession) => Promise<T>,
  ): Promise<T> {
    const kept = this.#find(upstream, requester, neededMs);
    kept.users += 1;
    clearTimeout(kept.timer);
    try {
      return await work(await kept.opened);
    } finally {
      kept.users -= 1;
      kept.lastUsedMs = this.#options.monotonicMs();
      if (kept.users === 0) this.#rest(kept);
    }
  }

  /** Ends every session with this server. */
  endAll(upstream: string, reason: string): void {
    for (const [key, kept] of this.#kept) if (kept.upstream === upstream) this.#drop(key, kept, reason);
  }

  /** Ends all of them, and waits until none is running. */
  async close(): Promise<void> {
    this.#isClosed = true;
    for (const [key, kept] of this.#kept) this.#drop(key, kept, 'the gateway is closed');
    await Promise.all([...this.#all].map(({ ended }) => ended));
  }

  #find(upstream: string, requester: Requester, neededMs: number): Kept {
    const key = [upstream, requester.tenant, formatPrincipal(requester.principal)].join(' ');
    const kept = this.#kept.get(key);
    // Boundary: a session that was started under other policies is started again, if the current ones permit it.
    const isGood = kept !== undefined && !kept.session.isOver && !kept.session.isOutdated;
    if (isGood && this.#hasLife(kept, neededMs)) return kept;
    // Calls on the old session may finish; it gets no new ones.
    if (kept !== undefined) this.#retire(key, kept);
    this.#makeRoom();
    return this.#start(key, upstream, requester);
  }

  #hasLife({ session }: Kept, neededMs: number): boolean {
    const { lifeMs, monotonicMs } = this.#options;
    return session.openedMs + lifeMs - monotonicMs() >= Math.min(neededMs, lifeMs / 2);
  }

  #start(key: string, upstream: string, requester: Requester): Kept {
    if (this.#isClosed) throw new CodedError('tier/upstream-failed', 'the gateway is about to close');
    const session = this.#options.start(upstream, requester);
    this.#all.add(session);
    void session.ended.finally(() => {
      this.#all.delete(session);
      if (this.#kept.get(key)?.session === session) this.#kept.delete(key);
    });
    const opened = session.open().then((status) => ({ session, status }));
    // The calls that use it get the error.
    opened.catch(() => undefined);
    const lastUsedMs = this.#options.monotonicMs();
    const kept: Kept = { upstream, opened, session, users: 0, lastUsedMs, timer: undefined };
    this.#kept.set(key, kept);
    return kept;
  }

  /** Boundary: the number of sessions is bounded; the one that has been idle longest is ended. */
  #makeRoom(): void {
    if (this.#all.size < this.#options.most) return;
    const idle = [...this.#kept].filter(([, { users }]) => users === 0);
    const [oldest] = idle.sort(([, a], [, b]) => a.lastUsedMs - b.lastUsedMs);
    if (oldest === undefined) {
      const message = `Cannot start another upstream server: ${this.#all.size} sessions are in use, expected fewer than ${this.#options.most}`;
      throw new CodedError('tier/upstream-failed', message);
    }
    this.#drop(...oldest, 'another session needed its place');
  }

  #retire(key: string, kept: Kept): void {
    this.#kept.delete(key);
    if (kept.users === 0) kept.session.end('it had lived for long enough');
  }

  #rest(kept: Kept): void {
    const isFound = [...this.#kept.values()].includes(kept);
    if (!isFound) {
      kept.session.end('it had lived for long enough');
      return;
    }
    kept.timer = setTimeout(() => kept.session.end('it was not used'), this.#options.idleMs);
    kept.timer.unref();
  }

  #drop(key: string, kept: Kept, reason: string): void {
    this.#kept.delete(key);
    clearTimeout(kept.timer);
    kept.session.end(reason);
  }
}
