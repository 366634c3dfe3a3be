import { createCipheriv, createDecipheriv } from 'node:crypto';
import { canonicalize } from '@palisade/sdk';
import type { Clock, Random } from '../../core/clock.ts';
import { type Digest, digestBytes } from '../../core/digest.ts';

/*
 * What a client carries from the question to the answer (`requestState`). The client stores it, so it proves nothing by
 * itself: it is sealed with a key that only this process has, bound to one principal, one tool and one input, valid for
 * minutes, and accepted once. It is about one approval, and whether the answer counts is decided by the approval and the
 * policies; or about one call that waits for the answer to a question of its server.
 */

/** Everything that an answer is bound to. An answer with any other binding is refused. */
export type Bound = {
  readonly owner: string;
  readonly approver: string;
  readonly method: string;
  readonly tool: string;
  readonly inputDigest: Digest;
};

type Sealed = Bound & { readonly about: string; readonly nonce: string; readonly expiresAtMs: number };

const CIPHER = 'aes-256-gcm';
const KEY_BYTES = 32;
const IV_BYTES = 12;
const TAG_BYTES = 16;
const NONCE_BYTES = 16;
/** Questions that are open at once; the oldest is dropped, and its answer no longer counts. */
const MOST_OPEN = 10_000;
const MAX_STATE_CHARS = 4_096;

/** Issues the states of questions and accepts each once. */
export class RequestStates {
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #key: Uint8Array;
  readonly #open = new Map<string, number>();

  constructor(clock: Clock, random: Random) {
    this.#clock = clock;
    this.#random = random;
    this.#key = random.bytes(KEY_BYTES);
  }

  /** The state of a question about an approval or a call, given by its id. */
  mint(bound: Bound, about: string, expiresAtMs: number): string {
    const nonce = Buffer.from(this.#random.bytes(NONCE_BYTES)).toString('base64url');
    this.#forget();
    this.#open.set(nonce, expiresAtMs);
    const sealed: Sealed = { ...bound, about, nonce, expiresAtMs };
    const iv = this.#random.bytes(IV_BYTES);
    const cipher = createCipheriv(CIPHER, this.#key, iv);
    const body = Buffer.concat([cipher.update(JSON.stringify(sealed)), cipher.final()]);
    return Buffer.concat([iv, cipher.getAuthTag(), body]).toString('base64url');
  }

  /** The id of what a state is about; null for one that was not issued for exactly this call, or was used before. */
  take(state: string, bound: Bound): string | null {
    const sealed = this.#unseal(state);
    if (sealed === null) return null;
    // Boundary: the answer to one question does not answer another, whichever client brings it.
    const { about, nonce, expiresAtMs, ...minted } = sealed;
    if (digestBytes(canonicalize(minted)) !== digestBytes(canonicalize(bound))) return null;
    // Boundary: taken in one step, so that of two at the same time only one succeeds.
    if (!this.#open.delete(nonce)) return null;
    return this.#clock.nowMs() < expiresAtMs ? about : null;
  }

  #unseal(state: string): Sealed | null {
    // Boundary: the text is untrusted; what our key did not seal is not parsed.
    if (state.length > MAX_STATE_CHARS) return null;
    const bytes = Buffer.from(state, 'base64url');
    if (bytes.length <= IV_BYTES + TAG_BYTES || bytes.toString('base64url') !== state) return null;
    const tagEnd = IV_BYTES + TAG_BYTES;
    const decipher = createDecipheriv(CIPHER, this.#key, bytes.subarray(0, IV_BYTES), {
      authTagLength: TAG_BYTES,
    });
    decipher.setAuthTag(bytes.subarray(IV_BYTES, tagEnd));
    try {
      const body = Buffer.concat([decipher.update(bytes.subarray(tagEnd)), decipher.final()]);
      return JSON.parse(body.toString()) as Sealed;
    } catch {
      return null;
    }
  }

  /** Drops what has expired, from the oldest on, and the oldest where there are too many. */
  #forget(): void {
    const nowMs = this.#clock.nowMs();
    for (const [nonce, expiresAtMs] of this.#open) {
      if (expiresAtMs > nowMs && this.#open.size < MOST_OPEN) return;
      this.#open.delete(nonce);
    }
  }
}
