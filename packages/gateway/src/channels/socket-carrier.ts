import { chmodSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import { createServer, type Server, type Socket } from 'node:net';
import { CodedError } from '../core/coded-error.ts';
import { Lines } from '../core/lines.ts';
import { storeErrorOf } from '../store/fault-of.ts';
import type {
  Answers,
  CarriedMessage,
  Carrier,
  CarrierListener,
  ChannelCount,
  ChannelName,
  Delivery,
} from './carrier.ts';
import { ChannelFolder, subjectOf } from './channel-folder.ts';
import { type AnswerFrame, MOST_ANSWER_BYTES, MOST_LINE_BYTES, readFrame, writeAnswer } from './frames.ts';
import { Peer } from './peer.ts';

/*
 * Joins the channels of the processes that share a state directory, by Unix sockets in its folder `channels`. A process
 * listens on `ID.sock` from its first subscriber on, and has a file `CHANNEL/ID` for each channel that it has subscribers
 * on, so that a publisher finds who listens by reading one folder, which does not exist where no other process does.
 *
 * Only the owner of the state directory can enter the folder, so what is connected is trusted for who sent what, as it
 * could write the database as well; its lines are read strictly all the same. A process that was killed leaves a socket
 * that refuses and a few empty files, which are removed by the first that finds them.
 */

type SocketCarrierOptions = {
  readonly directory: string;
  /** Which process this is, and whether another one is certainly gone. */
  readonly presence: { readonly id: string; readonly isGone: (id: string) => boolean };
};

/** Making and removing the file of a channel takes longer than a message; what arrives without a subscriber is dropped. */
const MOST_IDLE = 64;
/** What was published shortly before the end of a process still arrives. */
const DRAIN_MS = 500;
/** A start should not pay for a thousand past crashes. */
const MOST_SWEPT = 64;
/** Of a socket that is not listened on yet. */
const UNSEEN = '.new';

export class SocketCarrier implements Carrier {
  readonly #listener: CarrierListener;
  readonly #presence: SocketCarrierOptions['presence'];
  readonly #folder: ChannelFolder;
  readonly #peers = new Map<string, Peer>();
  readonly #subjects = new Set<string>();
  /** Channels whose last subscriber left a moment ago; calls of a skill join the same ones again and again. */
  readonly #idle = new Set<string>();
  readonly #connections = new Set<Socket>();
  #server: Server | null = null;
  #isClosed = false;

  constructor({ directory, presence }: SocketCarrierOptions, listener: CarrierListener) {
    this.#listener = listener;
    this.#presence = presence;
    this.#folder = new ChannelFolder(directory);
  }

  subscribe(name: ChannelName): void {
    const subject = subjectOf(name);
    if (this.#idle.delete(subject)) {
      this.#subjects.add(subject);
      return;
    }
    try {
      this.#listen();
      this.#folder.mark(subject, this.#presence.id);
    } catch (error) {
      throw storeErrorOf(error, `join the channel "${name.channel}"`);
    }
    this.#subjects.add(subject);
  }

  unsubscribe(name: ChannelName): void {
    const subject = subjectOf(name);
    if (!this.#subjects.delete(subject)) return;
    this.#idle.add(subject);
    const [oldest] = this.#idle;
    if (this.#idle.size <= MOST_IDLE || oldest === undefined) return;
    this.#idle.delete(oldest);
    this.#folder.unmark(oldest, this.#presence.id);
  }

  publish(message: CarriedMessage): Delivery {
    let [taken, full] = [0, 0];
    for (const id of this.#listening(message)) {
      if (this.#peerOf(id).send(message)) taken += 1;
      else full += 1;
    }
    return { taken, full };
  }

  async deliver(message: CarriedMessage): Promise<Answers<Delivery>> {
    const asked = this.#listening(message).map((id) => this.#peerOf(id).deliver(message));
    return answersOf(await Promise.all(asked), ({ delivery }) => delivery);
  }

  async count(tenant: string): Promise<Answers<readonly ChannelCount[]>> {
    const seen = this.#folder.processes().filter((id) => !id.endsWith(UNSEEN));
    const others = seen.filter((id) => id !== this.#presence.id && !this.#forgetIfGone(id));
    const asked = others.map((id) => this.#peerOf(id).count(tenant));
    return answersOf(await Promise.all(asked), ({ channels }) => channels);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    for (const subject of [...this.#subjects, ...this.#idle]) this.#folder.unmark(subject, this.#presence.id);
    this.#subjects.clear();
    this.#idle.clear();
    if (this.#server !== null) rmSync(this.#folder.socketOf(this.#presence.id), { force: true });
    this.#server?.close();
    this.#server = null;
    for (const socket of this.#connections) socket.destroy();
    const peers = [...this.#peers.values()];
    this.#peers.clear();
    await Promise.all(peers.map((peer) => peer.close(DRAIN_MS)));
    this.#folder.close();
  }

  /** The other processes with subscribers on a channel. */
  #listening(name: ChannelName): readonly string[] {
    const own = this.#presence.id;
    return this.#folder.listening(subjectOf(name)).filter((id) => id !== own);
  }

  #peerOf(id: string): Peer {
    const known = this.#peers.get(id);
    if (known !== undefined) return known;
    const peer = new Peer(this.#folder.socketOf(id), (code) => {
      // It has left, or was killed. One that is only too busy to accept stays known, with what it missed.
      if (code === '' || this.#isClosed || this.#forgetIfGone(id)) this.#peers.delete(id);
    });
    this.#peers.set(id, peer);
    return peer;
  }

  /** Listens from the first subscriber on. */
  #listen(): void {
    if (this.#server !== null) return;
    mkdirSync(this.#folder.path, { recursive: true, mode: 0o700 });
    // Boundary: who can open a socket in it speaks for every tenant; it is the owner's alone, whatever the umask was.
    chmodSync(this.#folder.path, 0o700);
    this.#sweep();
    const server = createServer((socket) => this.#accept(socket));
    // Listening before it is visible: a socket that refuses is that of a process that is gone.
    const unseen = this.#folder.socketOf(`${this.#presence.id}${UNSEEN}`);
    rmSync(unseen, { force: true });
    // A failed accept affects only its client; whether it listens is known at once.
    server.on('error', () => undefined);
    server.listen({ path: unseen });
    if (!server.listening) throw notListening(unseen);
    server.unref();
    chmodSync(unseen, 0o600);
    renameSync(unseen, this.#folder.socketOf(this.#presence.id));
    this.#server = server;
  }

  #accept(socket: Socket): void {
    this.#connections.add(socket);
    socket.unref();
    const lines = new Lines(MOST_LINE_BYTES, {
      onLine: (line) => this.#take(line, socket),
      onTooLong: () => socket.destroy(),
    });
    socket.on('data', (chunk: Buffer) => lines.push(chunk));
    socket.on('error', () => undefined);
    socket.once('close', () => this.#connections.delete(socket));
  }

  #take(line: Uint8Array, socket: Socket): void {
    if (socket.destroyed) return;
    const frame = readFrame(line);
    // Boundary: nothing of ours writes such a line, so nothing else is taken from there.
    if (frame === null) return void socket.destroy();
    if (frame.kind === 'count') {
      const channels = this.#listener.count(frame.tenant);
      this.#answer(socket, { answer: frame.ask, channels });
      return;
    }
    const delivery = this.#listener.deliver(frame.message, frame.missed);
    if (frame.ask !== null) this.#answer(socket, { answer: frame.ask, delivery });
  }

  #answer(socket: Socket, answer: AnswerFrame): void {
    // Boundary: a process that asks and does not read is left.
    if (socket.writableLength > MOST_ANSWER_BYTES) socket.destroy();
    else socket.write(writeAnswer(answer));
  }

  /** Removes what a process has left that is certainly gone. */
  #forgetIfGone(id: string): boolean {
    if (!this.#presence.isGone(id)) return false;
    this.#folder.forget(id);
    this.#folder.forget(`${id}${UNSEEN}`);
    return true;
  }

  #sweep(): void {
    const names = [
      ...this.#folder.processes(),
      ...this.#folder.subjects().flatMap((each) => this.#folder.listening(each)),
    ];
    const ids = new Set(names.map((name) => (name.endsWith(UNSEEN) ? name.slice(0, -UNSEEN.length) : name)));
    for (const id of [...ids].slice(0, MOST_SWEPT)) if (id !== this.#presence.id) this.#forgetIfGone(id);
  }
}

function answersOf<Answer>(
  given: readonly (AnswerFrame | null)[],
  partOf: (frame: AnswerFrame) => Answer | undefined,
): Answers<Answer> {
  const answers = given.flatMap((frame) => {
    const part = frame === null ? undefined : partOf(frame);
    return part === undefined ? [] : [part];
  });
  return { answers, silent: given.length - answers.length };
}

function notListening(path: string): CodedError {
  return new CodedError('store/unwritable', `Cannot listen on "${path}": the system refuses it`);
}
