import type { Readable } from 'node:stream';
import { quote } from '../../core/hostile-text.ts';
import { formatHost, type Host, parseHost } from '../authority.ts';
import { TLS_LIMITS } from '../limits.ts';
import { type ClientHello, readClientHello } from './client-hello.ts';

/** How a client begins; silent when it ended without a byte. */
type Opening = Exclude<ClientHello, { kind: 'more' }> | { readonly kind: 'silent' };

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
    // Boundary: each reading begins at the start, so reading after every single byte would be too expensive.
    if (this.#reads === TLS_LIMITS.helloReads) return broken('it comes in many small records', 'a few');
    this.#dueAt = this.#nextDue(bytes);
    return hello;
  }

  end(): Opening {
    return this.#length === 0 ? { kind: 'silent' } : broken('it stops', 'all of it');
  }

  /** The end of the record that is coming in, or of its header while that is not there. */
  #nextDue(bytes: Buffer): number {
    // What kind of bytes they are is clear with the first one after the header, or earlier.
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

const HTTP = 'http/1.1';

/** What is wrong with a client's first bytes to a host; null when nothing is. Only TLS is examined. */
export function problemWithName(opening: Opening, host: Host): string | null {
  if (opening.kind === 'malformed') return opening.why;
  return opening.kind === 'hello' && opening.serverName !== null ? compare(opening.serverName, host) : null;
}

/** Boundary: servers at one address pick their site by the name in the hello, so it has to be the host decided on. */
function compare(serverName: string, host: Host): string | null {
  const named = parseHost(serverName);
  if (named.ok && formatHost(named.value) === formatHost(host)) return null;
  return `Cannot go on: the TLS hello names ${quote(serverName)}, expected ${quote(formatHost(host))}`;
}

/** What is wrong with how a client begins to speak HTTP over TLS to a host; null when nothing is. */
export function problemWithHttps(opening: Opening, host: Host): string | null {
  if (opening.kind !== 'hello')
    return problemWithName(opening, host) ?? refuse('it does not begin as TLS', 'https');
  const { serverName, protocols } = opening;
  // Only names are sent; a client that speaks to an address sends none.
  if (serverName === null && host.kind === 'name')
    return refuse('the TLS hello names no host', quote(host.name));
  if (protocols.length > 0 && !protocols.includes(HTTP))
    return refuse(`the client speaks ${quote(protocols.join(', '))} alone`, quote(HTTP));
  return problemWithName(opening, host);
}

function refuse(is: string, expected: string): string {
  return `Cannot look into tunnel: ${is}, expected ${expected}`;
}
