/** Makes modules ready for engines, each once: by an engine that has run nothing, since its word is taken for all of them. */
import type { Digest } from '../../core/digest.ts';
import type { EnginePool } from './engine-pool.ts';
import type { PrepareEnd } from './engine-process.ts';
import type { Forms } from './forms.ts';
import { orAborted } from './or-aborted.ts';

/** No tenant is called so; an engine is nobody's again when it is given back without having run a call. */
const ownerFor = (tenant: string): string => `#prepare ${tenant}`;
/** Refusals that are remembered, so that a module that is none costs one look. */
const MOST_REFUSALS = 256;

/** A module whose bytes are those of its digest, for calls that may use so much memory. */
export type Wanted = {
  /** Who wants it: tenants take turns, so that the many slow modules of one are not in the way of the others'. */
  readonly tenant: string;
  readonly sha256: Digest;
  readonly memoryBytes: number;
  readonly bytes: Uint8Array;
};

/** What engines know a module by. */
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

  /** The form of a module. Who is aborted has none, and its engine is ended. */
  async take(wanted: Wanted, signal: AbortSignal): Promise<PrepareEnd> {
    const key = moduleKey(wanted);
    for (;;) {
      const form = await this.#forms.find(key);
      if (form !== null) return { kind: 'prepared', form };
      const refusal = this.#refusals.get(key);
      if (refusal !== undefined) return refusal;
      if (signal.aborted) return { kind: 'gone', why: 'nobody waits for it' };
      const other = this.#underWay.get(key);
      if (other === undefined) return this.#prepare(key, wanted, signal);
      // Whoever makes it may be stopped before it is done: then the next one does.
      const end = await orAborted(other, signal, () => undefined);
      if (end !== null && end.kind !== 'gone') return end;
    }
  }

  #prepare(key: string, wanted: Wanted, signal: AbortSignal): Promise<PrepareEnd> {
    const preparing = this.#prepareIn(key, wanted, signal).finally(() => this.#underWay.delete(key));
    // Who waits for it as well is told in the same way.
    const told = preparing.catch((): PrepareEnd => ({ kind: 'gone', why: 'it was not begun' }));
    this.#underWay.set(key, told);
    return preparing;
  }

  async #prepareIn(key: string, wanted: Wanted, signal: AbortSignal): Promise<PrepareEnd> {
    const { bytes, memoryBytes, tenant } = wanted;
    const engine = await this.#pool.take(ownerFor(tenant), signal);
    const onAbort = () => engine.end('the call was ended');
    signal.addEventListener('abort', onAbort, { once: true });
    if (signal.aborted) onAbort();
    try {
      const end = await engine.prepare(bytes, { memoryBytes });
      if (end.kind === 'prepared') await this.#forms.keep(key, end.form);
      // An engine without memory says nothing of the module: the next one is asked again.
      if (end.kind === 'refused' && end.refused.code !== 'memory') this.#refuse(key, end);
      return end;
    } finally {
      signal.removeEventListener('abort', onAbort);
      this.#pool.giveBack(engine);
    }
  }

  #refuse(key: string, end: PrepareEnd): void {
    const [oldest] = this.#refusals.keys();
    if (this.#refusals.size >= MOST_REFUSALS && oldest !== undefined) this.#refusals.delete(oldest);
    this.#refusals.set(key, end);
  }
}
