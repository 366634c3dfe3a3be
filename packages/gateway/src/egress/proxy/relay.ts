import { connect, type Socket, type TcpNetConnectOpts } from 'node:net';

/** Turns a piece that came in into what goes out for it; nothing when it must be dropped. */
type RelayStep = (piece: Buffer) => readonly Buffer[];

/** The most that one read returns. A read that is full is followed by another at once. */
const READ_BYTES = 64 * 1024;
/** The most that is written at once, and that waits for a stalled receiver; the kernel buffers far more. */
const GATHERED_BYTES = 512 * 1024;
/** The buffer of a bulk connection with little traffic; many are open and idle. */
const SMALL_READ_BYTES = 16 * 1024;
/** This many full reads in a row are a bulk transfer, for which a large buffer is worth its memory. */
const FLOW_READS = 4;

const readers: WeakMap<Socket, BulkReader> = new WeakMap();

/** Reads a connection into one buffer over and over, which grows when it is filled and shrinks when little comes. */
class BulkReader {
  /** Called with each piece; true when the memory of the piece is free again. */
  take: (piece: Buffer) => boolean = () => false;
  /** Kept while a larger one is in use: small ones that come and go would leave holes in the memory. */
  readonly #small = Buffer.allocUnsafeSlow(SMALL_READ_BYTES);
  #buffer = this.#small;
  #fullReads = 0;

  readonly onread = {
    /** Called before the first read and after each. */
    buffer: () => this.#buffer,
    callback: (bytes: number) => {
      const isFree = this.take(this.#buffer.subarray(0, bytes));
      this.#fit(this.#nextLength(bytes));
      return isFree;
    },
  };

  #fit(length: number): void {
    if (length === this.#buffer.length) return;
    this.#buffer = length === SMALL_READ_BYTES ? this.#small : Buffer.allocUnsafeSlow(length);
  }

  #nextLength(bytes: number): number {
    const { length } = this.#buffer;
    const isFull = bytes === length;
    this.#fullReads = isFull ? this.#fullReads + 1 : 0;
    const isFlow = length === GATHERED_BYTES ? bytes >= READ_BYTES : this.#fullReads >= FLOW_READS;
    if (isFlow) return GATHERED_BYTES;
    return isFull ? READ_BYTES : SMALL_READ_BYTES;
  }
}

/** Connects for a relay: nothing is read before that, and reads return more at once for less CPU time. */
export function connectForRelay(options: TcpNetConnectOpts): Socket {
  const reader = new BulkReader();
  const socket = connect({ ...options, onread: reader.onread });
  socket.pause();
  readers.set(socket, reader);
  return socket;
}

/**
 * Passes bytes on, no faster than the receiver takes them: what cannot be written is not read. Pieces that come one right
 * after another are written together, since a write costs more than a piece.
 */
export function relay(from: Socket, to: Socket, step: RelayStep): void {
  const reader = readers.get(from);
  if (reader === undefined) relayPieces(from, to, step);
  else relayBulk(from, to, step, reader);
}

function relayBulk(from: Socket, to: Socket, step: RelayStep, reader: BulkReader): void {
  let isWaiting = false;
  const onWritten = () => {
    if (!isWaiting || to.writableLength > 0) return;
    isWaiting = false;
    from.resume();
  };
  reader.take = (piece) => {
    const parts = step(piece);
    for (const part of parts) to.write(part, onWritten);
    // What still waits to be written is in the buffer, so the next read has to wait as well.
    isWaiting = parts.length > 0 && to.writableLength > 0;
    return !isWaiting;
  };
  from.resume();
}

function relayPieces(from: Socket, to: Socket, step: RelayStep): void {
  let isGathering = false;
  const flush = () => {
    if (!isGathering) return;
    isGathering = false;
    to.uncork();
    // A write reports backpressure before it is tried; only what remains afterwards has to wait.
    if (to.writableNeedDrain && to.writableLength > 0) from.pause();
  };
  from.on('data', (piece: Buffer) => {
    const parts = step(piece);
    if (!isGathering) to.cork();
    isGathering = true;
    for (const part of parts) to.write(part);
    if (piece.length < READ_BYTES || to.writableLength >= GATHERED_BYTES) flush();
    else setImmediate(flush);
  });
  to.on('drain', () => from.resume());
  from.resume();
}

/** Ends a connection so that the other side notices that something is missing; a normal end could look complete. */
export function reset(socket: Socket): void {
  // Only TCP can be reset, and not while it is ending: the attempt would leave the socket open forever.
  if (socket.remoteAddress === undefined || socket.writableEnded) socket.destroy();
  else socket.resetAndDestroy();
}
