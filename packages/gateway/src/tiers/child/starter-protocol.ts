/*
 * The protocol between the gateway and its starter, as bytes. Both are our code; an invalid line is a bug, and its
 * reader gives up the starter.
 */
import { Server, Socket } from 'node:net';
import { constants } from 'node:os';
import type { Exit, OpenDescriptor, StartPlan } from './child.ts';

export type Reply =
  | {
      readonly kind: 'started';
      readonly id: number;
      readonly pid: number;
      /** Of our ends, in the starter. */
      readonly numbers: readonly number[];
    }
  | { readonly kind: 'failed'; readonly id: number; readonly error: string }
  | { readonly kind: 'ended'; readonly id: number; readonly exit: Exit };

/** What we do with our end of a descriptor of the child. */
export type Side = 'reads' | 'writes' | 'holds';

/** Where a number has two names, the first one is the common one. */
const SIGNAL_NAMES = new Map(
  Object.entries(constants.signals)
    .reverse()
    .map(([name, number]) => [number, name]),
);

/** The limits of the starter: for one request, without the four bytes of its length, and for its descriptors. */
const MAX_REQUEST_BYTES = 8_388_608;
const MAX_DESCRIPTORS = 64;
const MAX_DESCRIPTOR = 1_048_576;
/** The ranges of process ids, signals and exit statuses. */
const MAX_PID = 4_194_304;
const MAX_SIGNAL = 64;
const MAX_EXIT = 255;

/** The request to start a plan. */
export function startFrame(id: number, { stdin, descriptors, words }: StartPlan): Uint8Array {
  const kinds = [
    stdin === null ? 'null' : 'in',
    'out',
    'out',
    ...descriptors.map((each) => wireOf(each).word),
  ];
  const bytes = descriptors.flatMap((each) => (each.role === 'bytes' ? [Buffer.from(each.bytes)] : []));
  return frame(['start', String(id), ...kinds, '--', ...words], bytes);
}

/** Boundary: a request that exceeds the starter's limits would end it, with everything that it runs. */
export function isTooMuch({ descriptors }: StartPlan, request: Uint8Array): boolean {
  return (
    request.length - 4 > MAX_REQUEST_BYTES ||
    descriptors.length > MAX_DESCRIPTORS ||
    descriptors.some((each) => each.role === 'open' && each.fd > MAX_DESCRIPTOR)
  );
}

/** Reports that the ends were opened. */
export function tookFrame(id: number): Uint8Array {
  return frame(['took', String(id)], []);
}

export function killFrame(id: number): Uint8Array {
  return frame(['kill', String(id)], []);
}

/** Arguments for a launcher that waits for them, preceded by their count so that a short write is recognised. */
export function wordsBytes(words: readonly string[]): Uint8Array {
  return Buffer.concat([uint32(words.length), textOf(words)]);
}

/** Which ends are ours, in the order in which the starter names them: those of the standard streams first. */
export function sidesOf({ stdin, descriptors }: StartPlan): readonly (Side | null)[] {
  return [
    stdin === null ? null : 'writes',
    'reads',
    'reads',
    ...descriptors.map((each) => wireOf(each).side),
  ];
}

/** A line of the starter: its kind, the id of the run, and the details. */
const REPLY = /^(?<kind>started|failed|ended) (?<id>\d+) (?<rest>.+)$/;
const FAILURE = /^[!-~]+ (?<error>[A-Z][A-Z0-9]*)$/;
const END = /^(?<how>exit|signal)=(?<number>\d+)$/;

/** Parses a line of the starter; null where it is invalid. */
export function parseReply(line: string): Reply | null {
  const { kind, id: name = '', rest = '' } = REPLY.exec(line)?.groups ?? {};
  const id = wholeNumber(name, Number.MAX_SAFE_INTEGER);
  if (id === null || id === 0) return null;
  if (kind === 'failed') {
    const error = FAILURE.exec(rest)?.groups?.error;
    return error === undefined ? null : { kind, id, error };
  }
  if (kind === 'started') {
    const [first = '', ...words] = rest.split(' ');
    const pid = wholeNumber(first, MAX_PID);
    const numbers = words.map((word) => wholeNumber(word, MAX_DESCRIPTOR)).filter((each) => each !== null);
    // Boundary: a signal to group 0 or 1 would reach our own group, or every process.
    if (pid === null || pid < 2) return null;
    return numbers.length === words.length ? { kind, id, pid, numbers } : null;
  }
  const exit = exitOf(rest);
  return exit === null ? null : { kind: 'ended', id, exit };
}

/** The name of a signal of this system. */
export function signalName(number: number): string {
  return SIGNAL_NAMES.get(number) ?? `SIG${number}`;
}

function exitOf(rest: string): Exit | null {
  const { how, number: word = '' } = END.exec(rest)?.groups ?? {};
  const number = wholeNumber(word, how === 'signal' ? MAX_SIGNAL : MAX_EXIT);
  if (number === null) return null;
  if (how === 'exit') return { exitCode: number, signal: null, spawnError: null };
  if (number === 0) return null;
  return { exitCode: null, signal: signalName(number), spawnError: null };
}

function wholeNumber(text: string, most: number): number | null {
  const number = /^(?:0|[1-9]\d{0,15})$/.test(text) ? Number(text) : Number.NaN;
  return number <= most ? number : null;
}

/** The starter's word for a descriptor, and what we do with our end of it. */
function wireOf(descriptor: OpenDescriptor): { readonly word: string; readonly side: Side | null } {
  switch (descriptor.role) {
    case 'open':
      return { word: `${descriptor.writes === true ? 'write' : 'read'}:${descriptor.fd}`, side: null };
    case 'bytes':
      return { word: `bytes:${Buffer.byteLength(descriptor.bytes)}`, side: null };
    case 'map': {
      const { owner, uid, gid } = descriptor;
      return { word: `map:${owner.uid}:${owner.gid}:${uid}:${gid}`, side: null };
    }
    case 'handles':
    case 'sockets':
      return { word: descriptor.role, side: null };
    case 'status':
      return { word: 'out', side: 'reads' };
    case 'stream':
      return { word: descriptor.way, side: descriptor.way === 'in' ? 'writes' : 'reads' };
    case 'control':
    case 'words':
      return { word: 'in', side: 'holds' };
  }
}

function frame(strings: readonly string[], bytes: readonly Uint8Array[]): Uint8Array {
  const text = textOf(strings);
  const rest = bytes.reduce((sum, each) => sum + each.length, 0);
  return Buffer.concat([uint32(4 + text.length + rest), uint32(text.length), text, ...bytes]);
}

function textOf(strings: readonly string[]): Uint8Array {
  return Buffer.from(strings.map((each) => `${each}\0`).join(''));
}

function uint32(number: number): Uint8Array {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(number);
  return bytes;
}

/**
 * The listening sockets of one run, which the starter passes over one by one. They are created in the network of the
 * run; their owner here accepts the connections. Nothing is accepted before the run starts.
 */
export class HandedServers {
  /** All of them in order, once they have arrived; null when the run ended first. */
  readonly all: Promise<readonly Server[] | null>;
  readonly #servers: (Server | null)[];
  #settle: (servers: readonly Server[] | null) => void = () => undefined;
  #isClosed = false;

  constructor(count: number) {
    this.#servers = Array.from({ length: count }, () => null);
    this.all = new Promise((resolve) => {
      this.#settle = resolve;
    });
    this.#settleWhenComplete();
  }

  /** Accepts one, or closes it where it does not belong. */
  take(index: number, server: Server): void {
    // Between runs a listener must not keep the gateway alive.
    server.unref();
    // Boundary: an index that was not requested, or arrives twice, is not a listener of the run.
    if (this.#isClosed || this.#servers[index] !== null) {
      server.close();
      return;
    }
    this.#servers[index] = server;
    this.#settleWhenComplete();
  }

  /** The run is over: nothing more is accepted. */
  close(): void {
    this.#isClosed = true;
    for (const server of this.#servers) server?.close();
    this.#settle(null);
  }

  #settleWhenComplete(): void {
    const there = this.#servers.filter((server) => server !== null);
    if (there.length === this.#servers.length) this.#settle(there);
  }
}

/** What the starter passed over for a run. */
export type Handed = { readonly run: number } & (
  | { readonly kind: 'listener'; readonly index: number; readonly server: Server }
  /** The answer to a request; without a socket where nothing listens. */
  | { readonly kind: 'socket'; readonly index: number; readonly socket: Socket | null }
);

/** A message of the starter with the handle that it refers to; null for any other message. */
export function handedBy(message: unknown, handle: unknown): Handed | null {
  if (typeof message !== 'object' || message === null) return null;
  const { run, index, socket } = message as Readonly<Record<string, unknown>>;
  if (!isCount(run)) return null;
  if (handle instanceof Server)
    return isCount(index) ? { run, kind: 'listener', index, server: handle } : null;
  if (!isCount(socket)) return null;
  if (handle instanceof Socket) return { run, kind: 'socket', index: socket, socket: handle };
  return handle === undefined ? { run, kind: 'socket', index: socket, socket: null } : null;
}

/** Closes what was passed over for a run that is over. */
export function dropHanded(handed: Handed): void {
  if (handed.kind === 'listener') handed.server.close();
  else handed.socket?.destroy();
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value);
}
