import { quote } from '../../core/hostile-text.ts';
import { TLS_LIMITS } from '../limits.ts';

/*
 * Reads the first message of a TLS client (RFC 8446, 4.1.2): which host it names and which protocols it offers. The
 * input is bytes of a hostile client, in any pieces; nothing is kept between two calls, and nothing throws. The name is
 * meaningful only if no server reads another one from the same bytes, so anything servers differ on is malformed: a
 * second name, lengths that do not add up, a record before the hello that some drop, a version that some ignore.
 *
 * What this cannot see: a name that is encrypted (the visible one is then a cover name), a second hello after the
 * server requested one, and everything after encryption starts.
 */

export type ClientHello =
  /** Could still become a hello. */
  | { readonly kind: 'more' }
  /** It does not begin as TLS does. */
  | { readonly kind: 'other' }
  | { readonly kind: 'malformed'; readonly why: string }
  | {
      readonly kind: 'hello';
      /** As it was sent: visible ASCII and not dots alone, but not yet a host. Null when none was sent. */
      readonly serverName: string | null;
      /** As they were offered (ALPN), each byte a character. */
      readonly protocols: readonly string[];
    };

type Malformed = Extract<ClientHello, { kind: 'malformed' }>;

const RECORD_HEADER_BYTES = 5;
const RECORD_BYTES = 16_384;
const MESSAGE_HEADER_BYTES = 4;
const VERSION_AND_RANDOM_BYTES = 34;
const SESSION_BYTES = 32;
/** Types of records: from ChangeCipherSpec to heartbeat. */
const [FIRST_TYPE, HANDSHAKE, LAST_TYPE] = [20, 22, 24];
const CLIENT_HELLO = 1;
/** Types of extensions, and the one type of name in use. */
const [SERVER_NAME, PROTOCOLS, HOST_NAME] = [0, 16, 0];

/** Reads the first bytes of a connection. Bytes behind the hello are not looked at. */
export function readClientHello(bytes: Uint8Array): ClientHello {
  const seen = Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(bytes.byteLength, TLS_LIMITS.helloBytes));
  const message = judgeStart(seen) ?? collect(seen);
  if (Buffer.isBuffer(message)) return readMessage(message);
  // Boundary: what never ends is not buffered.
  return message.kind === 'more' && seen.length === TLS_LIMITS.helloBytes ? tooLong() : message;
}

/** Null when the first bytes are those of a handshake. */
function judgeStart(bytes: Buffer): ClientHello | null {
  const [type, major, , , , first] = bytes;
  if (type === undefined) return { kind: 'more' };
  if (type < FIRST_TYPE || type > LAST_TYPE) return { kind: 'other' };
  if (major === undefined) return { kind: 'more' };
  if (major === 3) {
    // Boundary: some servers drop a warning and accept the hello after it.
    return type === HANDSHAKE ? null : malformed(`a record of type ${type} stands before it`, 'none');
  }
  if (major >= 16) return { kind: 'other' };
  if (first === undefined) return { kind: 'more' };
  // Boundary: some servers take any low version for TLS. Other protocols that begin so begin with a length, and do not
  // go on with the type of a hello or the level of a warning, both of which are 1.
  return first === CLIENT_HELLO ? malformed(`the version of its record is ${major}`, '3') : { kind: 'other' };
}

/** The message in the records, with its header, as soon as it is whole. Until then nothing is copied. */
function collect(bytes: Buffer): Buffer | ClientHello {
  let [at, announced, needed] = [0, 0, Number.POSITIVE_INFINITY];
  for (let records = 1; at + RECORD_HEADER_BYTES <= bytes.length; records += 1) {
    const size = bytes.readUInt16BE(at + 3);
    // Boundary: a hello is in handshake records only, none of them empty (servers differ on those) or too long.
    if (bytes[at] !== HANDSHAKE || bytes[at + 1] !== 3)
      return malformed('a record of another kind stands in it', 'none');
    if (size === 0 || size > RECORD_BYTES)
      return malformed(`a record has ${size} bytes`, `1 to ${RECORD_BYTES}`);
    // Boundary: every piece of a hello is read from its start, so the number of tiny pieces is limited.
    if (records > TLS_LIMITS.helloRecords)
      return malformed(`it has more than ${TLS_LIMITS.helloRecords} records`, 'fewer');
    at += RECORD_HEADER_BYTES + size;
    announced += size;
    const arrived = announced - Math.max(0, at - bytes.length);
    if (needed === Number.POSITIVE_INFINITY && arrived >= MESSAGE_HEADER_BYTES) {
      const header = join(bytes, MESSAGE_HEADER_BYTES);
      if (header[0] !== CLIENT_HELLO) return malformed(`its type is ${header[0]}`, `${CLIENT_HELLO}`);
      needed = MESSAGE_HEADER_BYTES + header.readUIntBE(1, 3);
      if (needed > TLS_LIMITS.helloBytes) return tooLong();
    }
    // Boundary: nothing follows a hello in its last record, or it would be read as a second message.
    if (announced > needed) return malformed('its last record is longer than it', 'its length');
    if (arrived === needed) return join(bytes, needed);
  }
  return { kind: 'more' };
}

/** This many bytes of the message, from records that were checked and contain them. */
function join(bytes: Buffer, count: number): Buffer {
  const message = Buffer.alloc(count);
  for (let [at, done] = [0, 0]; done < count; ) {
    const end = at + RECORD_HEADER_BYTES + bytes.readUInt16BE(at + 3);
    done += bytes.copy(message, done, at + RECORD_HEADER_BYTES, end);
    at = end;
  }
  return message;
}

function readMessage(message: Buffer): ClientHello {
  const hello = new Fields(message.subarray(MESSAGE_HEADER_BYTES));
  const fixed = hello.take(VERSION_AND_RANDOM_BYTES);
  const [session, suites, methods] = [hello.vector(1), hello.vector(2), hello.vector(1)];
  if (fixed === null || session === null || suites === null || methods === null) return unequal('it');
  if (session.length > SESSION_BYTES || suites.length < 2 || suites.length % 2 !== 0 || methods.length === 0)
    return malformed('its session, ciphers or compressions have an invalid length', 'a valid one');
  // A hello of an old client ends here.
  if (hello.isAtEnd()) return { kind: 'hello', serverName: null, protocols: [] };
  const extensions = hello.vector(2);
  return extensions === null || !hello.isAtEnd() ? unequal('it') : readExtensions(extensions);
}

function readExtensions(bytes: Buffer): ClientHello {
  const extensions = new Map<number, Buffer>();
  for (const rest = new Fields(bytes); !rest.isAtEnd(); ) {
    const type = rest.take(2)?.readUInt16BE() ?? null;
    const body = rest.vector(2);
    if (type === null || body === null) return unequal('an extension');
    // Boundary: of two names one server takes the first and another the last.
    if (extensions.has(type)) return malformed(`it has two extensions of type ${type}`, 'one');
    extensions.set(type, body);
  }
  const [name, offer] = [extensions.get(SERVER_NAME), extensions.get(PROTOCOLS)];
  const serverName = name === undefined ? null : readServerName(name);
  const protocols = offer === undefined ? [] : readProtocols(offer);
  if (serverName !== null && typeof serverName !== 'string') return serverName;
  return 'kind' in protocols ? protocols : { kind: 'hello', serverName, protocols };
}

/** The one name in a list of names. */
function readServerName(extension: Buffer): string | Malformed {
  const list = new Fields(extension);
  const entry = new Fields(list.vector(2) ?? Buffer.alloc(0));
  const type = entry.take(1);
  const name = entry.vector(2);
  if (!list.isAtEnd() || type === null || name === null) return unequal('its server name');
  // Boundary: a second name of any type is one that a server may prefer.
  if (type[0] !== HOST_NAME || !entry.isAtEnd())
    return malformed('it has another name than of a host', 'one');
  const text = name.toString('latin1');
  // Boundary: with a NUL, a blank or a non-ASCII byte, programs differ on where the name ends.
  if (!/^[!-~]+$/.test(text) || /^\.+$/.test(text))
    return malformed(`its server name is ${quote(text)}`, 'a name in ASCII');
  return text;
}

function readProtocols(extension: Buffer): readonly string[] | Malformed {
  const whole = new Fields(extension);
  const list = whole.vector(2);
  if (list === null || list.length === 0 || !whole.isAtEnd()) return unequal('its list of protocols');
  const protocols: string[] = [];
  for (const rest = new Fields(list); !rest.isAtEnd(); ) {
    const protocol = rest.vector(1);
    if (protocol === null || protocol.length === 0) return unequal('its list of protocols');
    protocols.push(protocol.toString('latin1'));
  }
  return protocols;
}

/** Takes fields off bytes, one after the other. After the first incomplete field, all others are missing too. */
class Fields {
  #rest: Buffer | null;

  constructor(bytes: Buffer) {
    this.#rest = bytes;
  }

  isAtEnd(): boolean {
    return this.#rest?.length === 0;
  }

  take(count: number): Buffer | null {
    // Boundary: no length that a client gives reaches beyond the bytes that it sent.
    const isThere = this.#rest !== null && count <= this.#rest.length;
    const field = isThere && this.#rest !== null ? this.#rest.subarray(0, count) : null;
    this.#rest = field === null || this.#rest === null ? null : this.#rest.subarray(count);
    return field;
  }

  /** A field with its length before it, in this many bytes. */
  vector(lengthBytes: 1 | 2): Buffer | null {
    const length = this.take(lengthBytes);
    return length === null ? null : this.take(length.readUIntBE(0, lengthBytes));
  }
}

function malformed(is: string, expected: string): Malformed {
  return { kind: 'malformed', why: `Cannot read hello: ${is}, expected ${expected}` };
}

function unequal(what: string): Malformed {
  return malformed(`${what} has lengths that do not add up`, 'lengths that do');
}

function tooLong(): Malformed {
  return malformed(`it has more than ${TLS_LIMITS.helloBytes} bytes`, 'fewer');
}
