import { setMaxListeners } from 'node:events';
import type { Config } from '../config/config.ts';
import { type Clock, isoTime } from '../core/clock.ts';
import { safeLine } from '../core/hostile-text.ts';
import { type Log, NO_LOG } from '../core/log.ts';
import type { Risk } from '../core/tool.ts';
import type { Lookup } from '../egress/resolve.ts';

/*
 * Tells people that a call waits for their approval: on the desktop of this machine, and by a request to an address of
 * the operator. Both are off unless configured. A notice is sent after the request was recorded and off the line: a call
 * never waits for it, and a notice that cannot be sent is a line in the log. What is told was chosen by an agent in part,
 * so it is one line of printable text, and never the input of the call.
 */

/** An open request, as a person elsewhere learns of it. */
export type Notice = {
  readonly id: string;
  readonly tenant: string;
  readonly principal: string;
  readonly tool: string;
  readonly risk: Risk;
  readonly run: string | null;
  readonly expiresAtMs: number;
  readonly approveWith: string;
};

/** One way to tell; rejects where it did not work. */
export type Channel = (notice: Notice, signal: AbortSignal) => Promise<void>;

/** More notices than a person reads; further ones are left out while so many are being sent. */
const MOST_AT_ONCE = 16;
/** How long the end of a gateway waits for notices that are being sent. */
const LAST_MS = 2_000;
const SHOWN_CHARS = 200;

export class Notifier {
  readonly #channels: readonly Channel[];
  readonly #log: Log;
  readonly #sending = new Set<Promise<void>>();
  readonly #stop = new AbortController();

  constructor(channels: readonly Channel[], log: Log) {
    this.#channels = channels;
    this.#log = log;
    setMaxListeners(0, this.#stop.signal);
  }

  /** Starts to tell; returns at once, and never throws. */
  notify(notice: Notice): void {
    // Boundary: an agent that asks for a thousand approvals does not make a thousand processes or connections.
    if (this.#sending.size + this.#channels.length > MOST_AT_ONCE) {
      if (this.#channels.length > 0) this.#log('warn', 'notice-left-out', { approval: notice.id });
      return;
    }
    for (const channel of this.#channels) {
      const sent = Promise.resolve()
        .then(() => channel(notice, this.#stop.signal))
        .catch((error: unknown) => this.#failed(notice, error))
        .finally(() => this.#sending.delete(sent));
      this.#sending.add(sent);
    }
  }

  /** Waits for a moment for what is being sent, then breaks it off. */
  async close(): Promise<void> {
    const timer = setTimeout(() => this.#stop.abort(), LAST_MS);
    await Promise.all(this.#sending);
    clearTimeout(timer);
  }

  #failed({ id }: Notice, error: unknown): void {
    const why = safeLine(error instanceof Error ? error.message : String(error), SHOWN_CHARS);
    this.#log('warn', 'notice-not-sent', { approval: id, why });
  }
}

type Network = { readonly clock: Clock; readonly lookup?: Lookup; readonly log?: Log };

/** What tells people as it is configured; what is not configured is not even loaded. */
export async function openNotifier(
  { notify, notifyUrl: url, notifySecretFile: secretFile }: Config['approval'],
  { clock, lookup, log = NO_LOG }: Network,
): Promise<Notifier> {
  const channels: Channel[] = [];
  if (notify === 'desktop') channels.push((await import('./desktop.ts')).desktopChannel());
  if (url !== null) {
    const { webhookChannel } = await import('./webhook.ts');
    const network = lookup === undefined ? { clock } : { clock, lookup };
    channels.push(webhookChannel({ url, secretFile: secretFile ?? '' }, network));
  }
  return new Notifier(channels, log);
}

/** The notice in two lines of plain text. */
export function textOf({ principal, tool, risk, expiresAtMs, approveWith }: Notice) {
  return {
    title: safeLine(`${principal} asks for ${tool} (risk ${risk})`, SHOWN_CHARS),
    body: safeLine(`${approveWith}   until ${isoTime(expiresAtMs)}`, SHOWN_CHARS * 2),
  };
}
