/** Modules in the form in which engines take them: metered, sealed, and made once for all calls. */
import { createHash } from 'node:crypto';
import type { FileShelf } from '../../store/file-shelf.ts';

export type Form = FormHead & { readonly bytes: Uint8Array };

export type FormHead = {
  /** What the form follows from, by the word of the engine that made it. */
  readonly digest: string;
  /** SHA-256 of the form. */
  readonly seal: string;
  /** It was linked from a component. */
  readonly isComponent: boolean;
};

/** What is kept at hand beside the files. */
const MOST_BYTES_AT_HAND = 128 * 1024 * 1024;
const SEAL_BYTES = 32;
const SUM_CHARS = 64;
const LINE_END = 0x0a;

/** Forms by what their module is known by, at hand and on disk. What does not read as it was written is as good as absent. */
export class Forms {
  readonly #shelf: FileShelf | null;
  readonly #terms: string;
  readonly #atHand = new Map<string, Form>();
  #bytesAtHand = 0;

  /** `terms`: everything beside the module that a form follows from; others of them are never found. */
  constructor(shelf: FileShelf | null, terms: string) {
    this.#shelf = shelf;
    this.#terms = terms;
  }

  async find(module: string): Promise<Form | null> {
    const known = this.#atHand.get(module);
    if (known !== undefined) {
      this.#atHand.delete(module);
      this.#atHand.set(module, known);
      return known;
    }
    const file = await this.#shelf?.read(this.#nameOf(module));
    const form = file === undefined || file === null ? null : parseForm(file);
    if (form !== null) this.#hold(module, form);
    return form;
  }

  async keep(module: string, form: Form): Promise<void> {
    this.#hold(module, form);
    await this.#shelf?.write(this.#nameOf(module), writeForm(form));
  }

  #hold(module: string, form: Form): void {
    this.#bytesAtHand += form.bytes.length - (this.#atHand.get(module)?.bytes.length ?? 0);
    this.#atHand.delete(module);
    this.#atHand.set(module, form);
    for (const [oldest, { bytes }] of this.#atHand) {
      if (this.#bytesAtHand <= MOST_BYTES_AT_HAND) return;
      this.#atHand.delete(oldest);
      this.#bytesAtHand -= bytes.length;
    }
  }

  #nameOf(module: string): string {
    return createHash('sha256')
      .update(JSON.stringify([module, this.#terms]))
      .digest('hex');
  }
}

/** A line with a head that has its own sum before it, then the form, whose seal the head has. */
function writeForm({ digest, seal, isComponent, bytes }: Form): Buffer {
  const head = JSON.stringify({ digest, seal, isComponent });
  return Buffer.concat([Buffer.from(`${sumOf(head)}${head}\n`), bytes]);
}

function sumOf(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

/** Boundary: every byte is as it was written; a file that was cut or changed is made anew. */
export function parseForm(file: Buffer): Form | null {
  const end = file.indexOf(LINE_END);
  if (end < 0) return null;
  const line = file.toString('utf8', 0, end);
  const text = line.slice(SUM_CHARS);
  const head = line.slice(0, SUM_CHARS) === sumOf(text) ? parseHead(text) : null;
  const bytes = file.subarray(end + 1);
  return head !== null && isSealed(head, bytes) ? { ...head, bytes } : null;
}

/** Whether the bytes are those of the seal, which stands behind them as well. */
export function isSealed({ seal }: Pick<FormHead, 'seal'>, bytes: Uint8Array): boolean {
  if (bytes.length < SEAL_BYTES) return false;
  const [code, behind] = [bytes.subarray(0, -SEAL_BYTES), bytes.subarray(-SEAL_BYTES)];
  const found = createHash('sha256').update(code).digest();
  return found.equals(behind) && found.toString('hex') === seal;
}

function parseHead(text: string): FormHead | null {
  try {
    return readFormHead(JSON.parse(text));
  } catch {
    return null;
  }
}

const HEXADECIMAL = /^[0-9a-f]{64}$/;

/** What an engine, or a file, says of a form; null where it makes no sense. */
export function readFormHead(raw: unknown): FormHead | null {
  const { digest, seal, isComponent } = (raw ?? {}) as Readonly<Record<string, unknown>>;
  if (typeof digest !== 'string' || typeof seal !== 'string' || typeof isComponent !== 'boolean') return null;
  return HEXADECIMAL.test(digest) && HEXADECIMAL.test(seal) ? { digest, seal, isComponent } : null;
}
