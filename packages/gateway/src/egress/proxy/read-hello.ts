import type { Readable } from 'node:stream';
import { type ClientHello, readClientHello } from '../tls/client-hello.ts';

/** How a client begins; silent when it ended without a byte. */
export type Opening = Exclude<ClientHello, { kind: 'more' }> | { readonly kind: 'silent' };

/** How often the bytes are read again: a record of the hello takes two times, and few hellos have more than one. */
const READS = 256;
const RECORD_HEADER_BYTES = 5;

/**
 * Looks at the first bytes of a client until it is clear how it begins, and leaves the socket paused with all of them
 * still to be read. It waits as long as the client does.
 */
export function readHello(socket: Readable): Promise<Opening> {
  const reader = new HelloReader();
  return new Promise((resolve) => {
    const finish = (opening: Opening) => {
      socket.off('data', onData).off('end', onEnd).off('close', onEnd);
      socket.pause();
      resolve(opening);
    };
    const onEnd = () => finish(reader.end());
    const onData = (piece: Buffer) => {
      const hello = reader.read(piece);
      if (hello.kind === 'more') return;
      finish(hello);
      socket.unshift(reader.bytes);
    };
    socket.on('end', onEnd).on('close', onEnd).on('data', onData);
    socket.resume();
  });
}

/** Collects a hello from any number of pieces, and reads it only when a piece can have made a difference. */
class HelloReader {
  #pieces: Buffer[] = [];
  #length = 0;
  #reads = 0;
  /** The length at which there is something new to be read. */
  #dueAt = 1;
  /** Where the last record ends that is there as a whole. */
  #wholeTo = 0;

  get bytes(): Buffer {
    const bytes = Buffer.concat(this.#pieces);
    this.#pieces = [bytes];
    return bytes;
  }

  read(piece: Buffer): ClientHello {
    this.#pieces.push(piece);
    this.#length += piece.length;
    if (this.#length < this.#dueAt) return { kind: 'more' };
    const { bytes } = this;
    const hello = readClientHello(bytes);
    if (hello.kind !== 'more') return hello;
    this.#reads += 1;
    // Boundary: each reading begins at the start, so bytes that come one by one would cost more than they are worth.
    if (this.#reads === READS) return broken('it comes in many small records', 'a few');
    this.#dueAt = this.#nextDue(bytes);
    return hello;
  }

  end(): Opening {
    return this.#length === 0 ? { kind: 'silent' } : broken('it stops', 'all of it');
  }

  /** The end of the record that is coming in, or of its header while that is not there. */
  #nextDue(bytes: Buffer): number {
    // What kind of bytes they are is clear with the first one behind the header, or earlier.
    if (bytes.length <= RECORD_HEADER_BYTES) return bytes.length + 1;
    while (bytes.length >= this.#wholeTo + RECORD_HEADER_BYTES) {
      const end = this.#wholeTo + RECORD_HEADER_BYTES + bytes.readUInt16BE(this.#wholeTo + 3);
      if (end > bytes.length) return end;
      this.#wholeTo = end;
    }
    return this.#wholeTo + RECORD_HEADER_BYTES;
  }
}

function broken(is: string, expected: string): Opening & { readonly kind: 'malformed' } {
  return { kind: 'malformed', why: `Cannot read hello: ${is}, expected ${expected}` };
}
