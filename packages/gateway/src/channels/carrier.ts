import type { Sender } from './queue.ts';

/*
 * The seam between the channels of one process and those of the others. A carrier brings messages to every other process
 * that has a subscriber; who may publish and receive is decided before it, and queues and their limits are behind it. The
 * carrier of one state directory is `socket-carrier.ts`. One between machines has the same face: a channel is a subject,
 * `publish` sends without an answer, `ask` with one.
 */

/** A channel among those of all tenants. */
export type ChannelName = { readonly tenant: string; readonly channel: string };

export type CarriedMessage = ChannelName & {
  readonly bytes: Uint8Array;
  readonly sender: Sender;
};

/** What became of a message: how many subscribers took it, and how many had no room for it. */
export type Delivery = { readonly taken: number; readonly full: number };

/** The subscribers of a channel. */
export type ChannelCount = { readonly channel: string; readonly subscribers: number };

/** What a process does for the others. */
export type CarrierListener = {
  /** Delivers to the subscribers of this process; `missed` were published before and could not be carried here. */
  readonly deliver: (message: CarriedMessage, missed: number) => Delivery;
  readonly count: (tenant: string) => readonly ChannelCount[];
};

/** A question to the other processes, and how many of them did not answer in time. */
export type Answers<Answer> = { readonly answers: readonly Answer[]; readonly silent: number };

export type Carrier = {
  /** From when it returns, messages that other processes publish on the channel are delivered here. */
  readonly subscribe: (name: ChannelName) => void;
  readonly unsubscribe: (name: ChannelName) => void;
  /** Hands a message on and never waits; counts the processes that it goes to, and those that are behind. */
  readonly publish: (message: CarriedMessage) => Delivery;
  /** The same, and waits a bounded time for what became of it. */
  readonly deliver: (message: CarriedMessage) => Promise<Answers<Delivery>>;
  /** The subscribers in the other processes. */
  readonly count: (tenant: string) => Promise<Answers<readonly ChannelCount[]>>;
  /** What was published is handed over, for a bounded time; nothing is left behind. */
  readonly close: () => Promise<void>;
};

/** Opens the carrier of a process when its first channel is used. */
export type OpenCarrier = (listener: CarrierListener) => Carrier;
