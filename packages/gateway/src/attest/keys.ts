import { sign } from 'node:crypto';
import {
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { encodeEnvelope, preAuthEncoding } from '@palisade/sdk';
import { isoTime } from '../core/clock.ts';
import { CodedError } from '../core/coded-error.ts';
import { decodeKey, documentOf, encodeKey, generateKey, type SigningKey } from './key.ts';

/*
 * The signing keys of one state directory: `keys/current.pem` holds the private key that signs now (mode 0600);
 * `keys/<id>.json` the public document of every key there ever was. Rotation retires the old document, forgets the old
 * private key and puts the new one in place by a rename, while the caller holds the write lock of the store; a signer in
 * another process sees the new file before its next signature.
 */

const CURRENT = 'current.pem';
const encoder = new TextEncoder();

/** Signs payloads; what rooms that make records are handed. */
export type Signer = { readonly sign: (payloadType: string, payload: string) => string };

export type KeyInfo = { readonly keyId: string; readonly document: string; readonly isCurrent: boolean };

export type Rotation = { readonly from: string | null; readonly to: string };

export class Keys implements Signer {
  readonly #directory: string;
  #key: SigningKey | null = null;
  #stamp = '';

  constructor(directory: string) {
    this.#directory = directory;
  }

  /** Makes the first key of a new state directory; true when it did. Never replaces a key that went missing. */
  createFirst(nowMs: number): boolean {
    mkdirSync(this.#directory, { recursive: true, mode: 0o700 });
    // What a crash left half written was never a key.
    if (readdirSync(this.#directory).some((name) => !name.endsWith('.new'))) return false;
    this.#install(generateKey(nowMs));
    return true;
  }

  get currentId(): string {
    return this.#load().keyId;
  }

  /** Throws where no signature could be made now. */
  ensureReady(): void {
    this.#load();
  }

  /** A DSSE envelope over the exact payload, signed by the key that is current at this moment. */
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

  /** Retires the current key and starts a new one. With `lost`, the old private key is not needed any more. */
  rotate(nowMs: number, lost: boolean): Rotation {
    const old = lost ? null : this.#load();
    return this.#replace(old, nowMs, nowMs);
  }

  /**
   * Starts a new key when the current one is of a time that is still to come, and would be valid for nothing that is
   * signed from now on; what it signed up to `lastMs` stays valid. Null when nothing was to be done.
   */
  leaveFuture(nowMs: number, lastMs: number): Rotation | null {
    if (this.#tryCurrentId() === null) return null;
    const key = this.#load();
    return key.createdAt <= isoTime(nowMs) ? null : this.#replace(key, nowMs, lastMs);
  }

  /** Every key there ever was, oldest first. */
  list(): KeyInfo[] {
    const current = this.#tryCurrentId();
    const names = readdirSync(this.#directory).filter((name) => name.endsWith('.json'));
    const infos = names.map((name) => {
      const document = this.#readDocument(name);
      const { keyId, createdAt } = document;
      return { keyId, createdAt, document: document.text, isCurrent: keyId === current };
    });
    return infos.sort((a, b) => (a.createdAt < b.createdAt ? -1 : a.createdAt > b.createdAt ? 1 : 0));
  }

  /** The key file for verifiers: one public document a line. */
  export(): string {
    return this.list()
      .map(({ document }) => `${document}\n`)
      .join('');
  }

  #readDocument(name: string): { readonly keyId: string; readonly createdAt: string; readonly text: string } {
    const path = join(this.#directory, name);
    const text = readFileSync(path, 'utf8').trimEnd();
    try {
      const { keyId, createdAt } = JSON.parse(text) as { keyId: unknown; createdAt: unknown };
      return { keyId: String(keyId), createdAt: String(createdAt), text };
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
      if (error instanceof CodedError) return null;
      throw error;
    }
  }

  #load(): SigningKey {
    const path = join(this.#directory, CURRENT);
    try {
      const { ino, mtimeMs, size, mode } = statSync(path);
      const stamp = `${ino}:${mtimeMs}:${size}:${mode}`;
      if (this.#key === null || stamp !== this.#stamp) {
        // Boundary: a signing key that others could have read or written proves nothing.
        if ((mode & 0o077) !== 0)
          throw new TypeError(`its mode is ${(mode & 0o777).toString(8)}, expected 600`);
        this.#key = decodeKey(readFileSync(path, 'utf8'));
        this.#stamp = stamp;
        // A crash between the key and its document leaves the document to be written here.
        if (!existsSync(join(this.#directory, documentName(this.#key)))) this.#publish(this.#key);
      }
      return this.#key;
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      throw new CodedError('attest/missing-key', `Cannot sign with "${path}": ${why}`, { cause: error });
    }
  }

  #replace(old: SigningKey | null, nowMs: number, retiredMs: number): Rotation {
    const key = generateKey(nowMs);
    this.#install(key);
    if (old !== null) this.#write(documentName(old), documentOf(old, isoTime(retiredMs)), 0o644);
    return { from: old?.keyId ?? null, to: key.keyId };
  }

  #install(key: SigningKey): void {
    this.#write(CURRENT, encodeKey(key), 0o600);
    this.#publish(key);
    this.#key = null;
  }

  #publish(key: SigningKey): void {
    this.#write(documentName(key), documentOf(key, null), 0o644);
  }

  /** Whole or not at all: written beside, flushed, then renamed. */
  #write(name: string, text: string, mode: number): void {
    const path = join(this.#directory, name);
    const fd = openSync(`${path}.new`, 'w', mode);
    writeSync(fd, name.endsWith('.json') ? `${text}\n` : text);
    fsyncSync(fd);
    closeSync(fd);
    renameSync(`${path}.new`, path);
    const folder = openSync(this.#directory, 'r');
    fsyncSync(folder);
    closeSync(folder);
  }
}

function documentName(key: SigningKey): string {
  return `${key.keyId.replace('sha256:', '')}.json`;
}
