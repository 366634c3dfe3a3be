/**
 * What an engine needs of a module: its bytes, checked against the digest that was approved; its form, metered and
 * sealed once for all calls and kept on disk; and the preparation of a form, by an engine that has run nothing, since
 * all engines use the result.
 */
import { type Digest, digestBytes } from '../../core/digest.ts';
import { orElse } from '../../core/result.ts';
import type { WasmProgram } from '../../core/wasm.ts';
import type { FileShelf } from '../../store/file-shelf.ts';
import { type FormHead, readFormHead } from './engine/protocol.ts';
import type { EnginePool } from './engine-pool.ts';
import type { PrepareEnd } from './engine-process.ts';

/** Values by key, up to a total of bytes; the least recently used is dropped first. */
class ByteCache<Value> {
  readonly #mostBytes: number;
  readonly #entries = new Map<string, { readonly value: Value; readonly bytes: number }>();
  #bytes = 0;

  constructor(mostBytes: number) {
    this.#mostBytes = mostBytes;
  }

  get(key: string): Value | null {
    const entry = this.#entries.get(key);
    if (entry === undefined) return null;
    this.#entries.delete(key);
    this.#entries.set(key, entry);
    return entry.value;
  }

  /** A value that is longer than all of the cache is not kept. */
  keep(key: string, value: Value, bytes: number): void {
    if (this.#entries.has(key) || bytes > this.#mostBytes) return;
    this.#entries.set(key, { value, bytes });
    this.#bytes += bytes;
    for (const [oldest, entry] of this.#entries) {
      if (this.#bytes <= this.#mostBytes) return;
      this.#entries.delete(oldest);
      this.#bytes -= entry.bytes;
    }
  }
}

/** Of all cached modules; a single longer one is read again for each call. */
const MOST_BYTES = 64 * 1024 * 1024;

/** The bytes of modules that match their digest. */
export class ModuleCache {
  readonly #modules: ByteCache<Uint8Array>;

  constructor(mostBytes = MOST_BYTES) {
    this.#modules = new ByteCache(mostBytes);
  }

  /** Boundary: what runs is what was approved, to the byte; null where it differs. */
  async take({ sha256, read }: Pick<WasmProgram, 'sha256' | 'read'>): Promise<Uint8Array | null> {
    const kept = this.#modules.get(sha256);
    if (kept !== null) return kept;
    // Boundary: a copy, so that the checked bytes cannot change.
    const bytes = new Uint8Array(await read());
    if (digestBytes(bytes) !== sha256) return null;
    this.#modules.keep(sha256, bytes, bytes.length);
    return bytes;
  }
}

/** A module as engines take it: metered and sealed. */
export type Form = FormHead & { readonly bytes: Uint8Array };

/** What is kept in memory beside the files. */
const MOST_BYTES_AT_HAND = 128 * 1024 * 1024;
const SEAL_BYTES = 32;
const SUM_CHARS = 64;
const LINE_END = 0x0a;

/** Forms by the key of their module, in memory and on disk. One that does not read back as written counts as absent. */
export class Forms {
  readonly #shelf: FileShelf | null;
  readonly #terms: string;
  readonly #atHand = new ByteCache<Form>(MOST_BYTES_AT_HAND);

  /** `terms`: everything beside the module that a form depends on; forms made under other terms are never found. */
  constructor(shelf: FileShelf | null, terms: string) {
    this.#shelf = shelf;
    this.#terms = terms;
  }

  async find(module: string): Promise<Form | null> {
    const known = this.#atHand.get(module);
    if (known !== null) return known;
    const file = await this.#shelf?.read(this.#nameOf(module));
    const form = file === undefined || file === null ? null : parseForm(file);
    if (form !== null) this.#atHand.keep(module, form, form.bytes.length);
    return form;
  }

  async keep(module: string, form: Form): Promise<void> {
    this.#atHand.keep(module, form, form.bytes.length);
    await this.#shelf?.write(this.#nameOf(module), writeForm(form));
  }

  #nameOf(module: string): string {
    return digestBytes(JSON.stringify([module, this.#terms]));
  }
}

/** A line with a head preceded by its checksum, then the form, whose seal is in the head. */
function writeForm({ digest, seal, isComponent, bytes }: Form): Buffer {
  const head = JSON.stringify({ digest, seal, isComponent });
  return Buffer.concat([Buffer.from(`${digestBytes(head)}${head}\n`), bytes]);
}

/** Boundary: every byte is as it was written; a form whose file was cut or changed is prepared again. */
export function parseForm(file: Buffer): Form | null {
  const end = file.indexOf(LINE_END);
  if (end < 0) return null;
  const line = file.toString('utf8', 0, end);
  const text = line.slice(SUM_CHARS);
  const head =
    line.slice(0, SUM_CHARS) === digestBytes(text)
      ? orElse(() => readFormHead(JSON.parse(text)), null)
      : null;
  const bytes = file.subarray(end + 1);
  return head !== null && isSealed(head, bytes) ? { ...head, bytes } : null;
}

/** Whether the bytes match the seal, which is also appended to them. */
export function isSealed({ seal }: Pick<FormHead, 'seal'>, bytes: Uint8Array): boolean {
  if (bytes.length < SEAL_BYTES) return false;
  const [code, behind] = [bytes.subarray(0, -SEAL_BYTES), bytes.subarray(-SEAL_BYTES)];
  return digestBytes(code) === seal && Buffer.from(behind).toString('hex') === seal;
}

/** No tenant has such a name; an engine that is returned without having run a call has no owner again. */
const ownerFor = (tenant: string): string => `#prepare ${tenant}`;
/** Refusals that are remembered, so that an invalid module is checked only once. */
const MOST_REFUSALS = 256;

/** A module whose bytes match its digest, for calls with this memory limit. */
type Wanted = {
  /** Tenants take turns, so that many slow modules of one do not delay the others. */
  readonly tenant: string;
  readonly sha256: Digest;
  readonly memoryBytes: number;
  readonly bytes: Uint8Array;
};

/** The key by which engines know a module. */
export function moduleKey({ sha256, memoryBytes }: Pick<Wanted, 'sha256' | 'memoryBytes'>): string {
  return `${sha256} ${memoryBytes}`;
}

export class ReadyModules {
  readonly #pool: EnginePool;
  readonly #forms: Forms;
  readonly #underWay = new Map<string, Promise<PrepareEnd>>();
  readonly #refusals = new Map<string, PrepareEnd>();

  constructor(pool: EnginePool, forms: Forms) {
    this.#pool = pool;
    this.#forms = forms;
  }

  /** The form of a module; when the signal fires first, its engine is ended. */
  async take(wanted: Wanted, signal: AbortSignal): Promise<PrepareEnd> {
    const key = moduleKey(wanted);
    for (;;) {
      const form = await this.#forms.find(key);
      if (form !== null) return { kind: 'prepared', form };
      const refusal = this.#refusals.get(key);
      if (refusal !== undefined) return refusal;
      if (signal.aborted) return { kind: 'gone', why: 'the call was ended' };
      const other = this.#underWay.get(key);
      if (other === undefined) return this.#prepare(key, wanted, signal);
      // If the call that prepares it is stopped before it is done, the next one prepares it.
      const end = await abortable(other, signal);
      if (end !== null && end.kind !== 'gone') return end;
    }
  }

  #prepare(key: string, wanted: Wanted, signal: AbortSignal): Promise<PrepareEnd> {
    const preparing = this.#prepareIn(key, wanted, signal).finally(() => this.#underWay.delete(key));
    // Calls that wait for it as well get the same result.
    const shared = preparing.catch((): PrepareEnd => ({ kind: 'gone', why: 'it was not begun' }));
    this.#underWay.set(key, shared);
    return preparing;
  }

  async #prepareIn(key: string, wanted: Wanted, signal: AbortSignal): Promise<PrepareEnd> {
    const { bytes, memoryBytes, tenant } = wanted;
    return this.#pool.use(ownerFor(tenant), signal, async (engine) => {
      const end = await engine.prepare(bytes, { memoryBytes });
      if (end.kind === 'prepared') await this.#forms.keep(key, end.form);
      // A lack of memory is not the module's fault: the next call tries again.
      if (end.kind === 'refused' && end.refused.code !== 'memory') this.#refuse(key, end);
      return end;
    });
  }

  #refuse(key: string, end: PrepareEnd): void {
    const [oldest] = this.#refusals.keys();
    if (this.#refusals.size >= MOST_REFUSALS && oldest !== undefined) this.#refusals.delete(oldest);
    this.#refusals.set(key, end);
  }
}

/** The value of a promise, or null when the signal fires first. */
export function abortable<T>(promise: Promise<T>, signal: AbortSignal): Promise<T | null> {
  return new Promise((resolve, reject) => {
    const onAbort = () => resolve(null);
    signal.addEventListener('abort', onAbort, { once: true });
    const settled = promise.finally(() => signal.removeEventListener('abort', onAbort));
    settled.then((value) => resolve(signal.aborted ? null : value), reject);
    if (signal.aborted) onAbort();
  });
}
