import type { Log } from '../../core/log.ts';
import type { Gateway } from '../../invoke/gateway.ts';
import { toolsVersion } from '../../invoke/visible-tools.ts';

/** What an open connection subscribes to. */
type Listener = { readonly toolsChanged: () => void; readonly resourcesChanged: () => void };

type Subscribed = { readonly owner: string; readonly listener: Listener };

/** Policies and skills are files and rows that any process may change; they are polled this often. */
const LOOK_EVERY_MS = 1_000;
/** Calls end often, and clients fetch the list again at each notification. */
const TELL_CALLS_AFTER_MS = 5_000;

/** Notifies open connections when the tools that they may see, or the calls that they may read, could have changed. */
export class Changes {
  readonly #gateway: Gateway;
  readonly #log: Log;
  readonly #subscribed = new Set<Subscribed>();
  readonly #telling = new Map<string, NodeJS.Timeout>();
  #looking: NodeJS.Timeout | null = null;
  #version = '';

  constructor(gateway: Gateway, log: Log) {
    this.#gateway = gateway;
    this.#log = log;
  }

  /** Listens until the given function is called. */
  subscribe(owner: string, listener: Listener): () => void {
    const subscribed = { owner, listener };
    this.#subscribed.add(subscribed);
    if (this.#looking === null) {
      this.#version = toolsVersion(this.#gateway);
      this.#looking = setInterval(() => this.#look(), LOOK_EVERY_MS);
      this.#looking.unref();
    }
    return () => {
      this.#subscribed.delete(subscribed);
      if (this.#subscribed.size === 0) this.close();
    };
  }

  /** Checks whether the tools could have changed, and notifies. */
  #look(): void {
    try {
      const version = toolsVersion(this.#gateway);
      if (version === this.#version) return;
      this.#version = version;
      // Resources of upstream servers come and go with their tools.
      const hasUpstreams = this.#gateway.upstreams.rules.length > 0;
      for (const { listener } of this.#subscribed) {
        listener.toolsChanged();
        if (hasUpstreams) listener.resourcesChanged();
      }
    } catch (error) {
      // What cannot be read now is tried again; calls report what is wrong themselves.
      this.#log('warn', 'mcp.tools-unseen', { name: (error as Error).name });
    }
  }

  /** A call of this owner has ended; subscribers of the same owner are notified, though not of each call. */
  called(owner: string): void {
    if (this.#subscribed.size === 0) return;
    // A call can connect to a server, or show that it offers other tools than the accepted ones.
    this.#look();
    if (this.#telling.has(owner)) return;
    const tell = () => {
      this.#telling.delete(owner);
      for (const each of this.#subscribed) if (each.owner === owner) each.listener.resourcesChanged();
    };
    const timer = setTimeout(tell, TELL_CALLS_AFTER_MS);
    timer.unref();
    this.#telling.set(owner, timer);
  }

  /** Looks no more. */
  close(): void {
    if (this.#looking !== null) clearInterval(this.#looking);
    this.#looking = null;
    for (const timer of this.#telling.values()) clearTimeout(timer);
    this.#telling.clear();
  }
}
