import { sign } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import {
  canonicalize,
  encodeEnvelope,
  type Predicate,
  preAuthEncoding,
  RECEIPT_PREDICATE_TYPE,
  STATEMENT_TYPE,
  type Statement,
} from '@palisade/sdk';
import { isoTime } from '../core/clock.ts';
import { CodedError } from '../core/coded-error.ts';
import { type Digest, digestBytes } from '../core/digest.ts';
import { isOutOfFiles, storeErrorOf } from '../store/fault-of.ts';
import { moveOver, namesIn, removeFiles, UNFINISHED, writeWhole } from '../store/whole-file.ts';
import * as files from './key-files.ts';

/*
 * The signing keys of one state directory: `keys/current.pem` is the private key that signs now (mode 0600);
 * `keys/<id>.json` is the public document of every key so far.
 *
 * Rotation has two steps, both while the caller holds the write lock of the store. `prepare` writes the new key as
 * `next.pem` and changes nothing else; the caller records it. `settle` follows what is recorded: it moves the new key
 * into place by a rename, publishes it and retires the old one, whose private key is in `retiring.pem` until its
 * retired document is written. A key that no record names is removed. Whatever a crash leaves, `settle` can be called
 * again. A signer in another process sees the new file before its next signature, and every signature is made under
 * that lock: none is later than the time of retirement.
 */

const CURRENT = 'current.pem';
const NEXT = 'next.pem';
const RETIRING = 'retiring.pem';
/** Files that only a rotation writes. */
const OF_ROTATION = /^(next|retiring)\.pem/;
const encoder = new TextEncoder();

/** Signs payloads; passed to modules that make records. */
export type Signer = {
  readonly sign: (payloadType: string, payload: string) => string;
  /** The start of validity of the current key; nothing that it signs may be dated earlier. */
  readonly validSince: () => string;
};

type KeyInfo = { readonly keyId: string; readonly document: string; readonly isCurrent: boolean };

export type Rotation = { readonly from: string | null; readonly to: string };

export class Keys implements Signer {
  readonly #directory: string;
  #key: files.SigningKey | null = null;
  #stamp = '';
  /** Signs in place of a lost key, in the transaction that records it. */
  #standIn: files.SigningKey | null = null;

  constructor(directory: string) {
    this.#directory = directory;
  }

  /** Creates the first key of a new state directory; true when it did. Never replaces a missing key. */
  createFirst(nowMs: number): boolean {
    mkdirSync(this.#directory, { recursive: true, mode: 0o700 });
    const names = readdirSync(this.#directory);
    if (names.some((name) => !name.endsWith(UNFINISHED))) return false;
    // A file that a crash left incomplete was never a key.
    removeFiles(this.#directory, names);
    const key = files.generateKey(nowMs);
    this.#write(CURRENT, files.encodeKey(key), 0o600);
    this.#publish(key);
    return true;
  }

  get currentId(): string {
    return this.#load().keyId;
  }

  validSince(): string {
    return this.#load().createdAt;
  }

  get isReady(): boolean {
    return this.#tryCurrentId() !== null;
  }

  /** Throws where no signature can be made now. */
  ensureReady(): void {
    this.#load();
  }

  /** A DSSE envelope over the exact payload, signed by the current key. */
  sign(payloadType: string, payload: string): string {
    const key = this.#load();
    const bytes = encoder.encode(payload);
    return encodeEnvelope(
      payloadType,
      bytes,
      key.keyId,
      sign(null, preAuthEncoding(payloadType, bytes), key.privateKey),
    );
  }

  /**
   * Creates the key that is to follow the current one, valid from `nowMs` on. It takes effect once it is recorded and
   * settled. With `lost`, there is no current one, and this one signs in memory until then.
   */
  prepare(nowMs: number, lost: boolean): Rotation {
    const from = lost ? null : this.#load().keyId;
    const key = files.generateKey(nowMs);
    this.#write(NEXT, files.encodeKey(key), 0o600);
    if (lost) this.#standIn = key;
    return { from, to: key.keyId };
  }

  /** Signals that the transaction of `prepare` is over, however it ended. */
  leavePrepared(): void {
    this.#standIn = null;
  }

  /** True when a rotation was begun and is not settled yet. */
  get hasPending(): boolean {
    return namesIn(this.#directory).some((name) => OF_ROTATION.test(name));
  }

  /** Completes a recorded rotation: `named` is the key that the records name last, `retiredMs` the old one's end. */
  settle(named: string | null, retiredMs: number): void {
    const next = this.#readPending(NEXT);
    if (next !== null && next.keyId === named) this.#promote(next);
    const old = this.#readPending(RETIRING);
    if (old !== null && old.keyId !== this.#tryCurrentId()) {
      const retiredAt = isoTime(Math.max(retiredMs, Date.parse(old.createdAt)));
      this.#write(documentName(old), files.documentOf(old, retiredAt), 0o644);
    }
    removeFiles(
      this.#directory,
      namesIn(this.#directory).filter((name) => OF_ROTATION.test(name)),
    );
  }

  /** Every key so far, oldest first. */
  list(): KeyInfo[] {
    const current = this.#tryCurrentId();
    const names = readdirSync(this.#directory).filter((name) => name.endsWith('.json'));
    const infos = names.map((name) => {
      const read = this.#readDocument(name);
      return { ...read, isCurrent: read.keyId === current };
    });
    return infos.sort((a, b) => (a.createdAt < b.createdAt ? -1 : a.createdAt > b.createdAt ? 1 : 0));
  }

  /** The key file for verifiers: one public document per line. */
  export(): string {
    return this.list()
      .map(({ document }) => `${document}\n`)
      .join('');
  }

  #readDocument(name: string) {
    const path = join(this.#directory, name);
    const document = readFileSync(path, 'utf8').trimEnd();
    try {
      const { keyId, createdAt } = JSON.parse(document) as { keyId: unknown; createdAt: unknown };
      return { keyId: String(keyId), createdAt: String(createdAt), document };
    } catch (error) {
      const message = `Cannot read the key document "${path}": it is damaged`;
      throw new CodedError('attest/missing-key', message, {
        remedy: 'Restore it from a backup or an export of the keys.',
        cause: error,
      });
    }
  }

  #tryCurrentId(): string | null {
    try {
      return this.#load().keyId;
    } catch (error) {
      if (error instanceof CodedError && error.code === 'attest/missing-key') return null;
      throw error;
    }
  }

  #load(): files.SigningKey {
    const path = join(this.#directory, CURRENT);
    try {
      const stamp = stampOf(path);
      if (this.#key === null || stamp !== this.#stamp) {
        this.#key = files.decodeKey(files.readPrivate(path));
        this.#stamp = stamp;
        // A crash between the key and its document leaves the document to be written here.
        if (!existsSync(join(this.#directory, documentName(this.#key)))) this.#publish(this.#key);
      }
      return this.#key;
    } catch (error) {
      if (this.#standIn !== null) return this.#standIn;
      // The key exists, and will be read again.
      if (error instanceof CodedError) throw error;
      if (isOutOfFiles(error)) throw storeErrorOf(error, `sign with "${path}"`);
      const why = error instanceof Error ? error.message : String(error);
      throw new CodedError('attest/missing-key', `Cannot sign with "${path}": ${why}`, { cause: error });
    }
  }

  /** The key in a file of a rotation; null where no usable one exists. */
  #readPending(name: string): files.SigningKey | null {
    if (!namesIn(this.#directory).includes(name)) return null;
    try {
      return files.decodeKey(files.readPrivate(join(this.#directory, name)));
    } catch (error) {
      if (error instanceof CodedError) throw error;
      return null;
    }
  }

  #promote(next: files.SigningKey): void {
    const current = this.#tryCurrentId() === null ? null : this.#load();
    // After the rename a crash does not return here, and `retiring.pem` is then the only copy of the old key.
    if (current !== null && current.keyId !== next.keyId)
      this.#write(RETIRING, files.encodeKey(current), 0o600);
    moveOver(this.#directory, NEXT, CURRENT);
    this.#key = null;
    this.#publish(next);
  }

  #publish(key: files.SigningKey): void {
    this.#write(documentName(key), files.documentOf(key, null), 0o644);
  }

  #write(name: string, text: string, mode: number): void {
    writeWhole(this.#directory, name, name.endsWith('.json') ? `${text}\n` : text, mode);
  }
}

/** Differs when the file at the path is another one, or has other contents. */
function stampOf(path: string): string {
  const { ino, mtimeMs, size, mode } = statSync(path);
  return `${ino}:${mtimeMs}:${size}:${mode}`;
}

function documentName(key: files.SigningKey): string {
  return `${key.keyId.replace('sha256:', '')}.json`;
}

/** Everything in a receipt except its journal position and the time of its ending, which the journal provides. */
type ReceiptFacts = Omit<Predicate, 'journal' | 'call'> & {
  readonly call: Omit<Predicate['call'], 'endedAt'>;
  readonly inputDigest: Digest;
  readonly outputDigest: Digest | null;
};

/** The position in the journal of the record that has the digest of the receipt. */
type Place = { readonly seq: number; readonly prev: string; readonly at: string };

type SignedReceipt = { readonly envelope: string; readonly sha256: Digest };

const PAYLOAD_TYPE = 'application/vnd.in-toto+json';

/** Signs the statement of what was requested, decided, achieved and used. It adds nothing to the facts. */
export function signReceipt(facts: ReceiptFacts, place: Place, signer: Signer): SignedReceipt {
  const payload = canonicalize(statementOf(facts, place));
  return { envelope: signer.sign(PAYLOAD_TYPE, payload), sha256: digestBytes(payload) };
}

function statementOf(facts: ReceiptFacts, place: Place): Statement {
  const { inputDigest, outputDigest, call, ...rest } = facts;
  const input = { name: 'input' as const, digest: { sha256: inputDigest } };
  const output = outputDigest === null ? [] : [{ name: 'output' as const, digest: { sha256: outputDigest } }];
  return {
    _type: STATEMENT_TYPE,
    subject: [input, ...output],
    predicateType: RECEIPT_PREDICATE_TYPE,
    predicate: {
      ...rest,
      call: { ...call, endedAt: place.at },
      journal: { seq: place.seq, prev: place.prev },
    },
  };
}
