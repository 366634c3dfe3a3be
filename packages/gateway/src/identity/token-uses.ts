/** More than a gateway has tokens in use; the ones used longest ago are forgotten first. */
const MOST = 10_000;

/** When tokens were used last, as far as this process knows. It is not kept: a request writes nothing. */
export class TokenUses {
  readonly #lastMs = new Map<string, number>();

  note(id: string, nowMs: number): void {
    this.#lastMs.delete(id);
    this.#lastMs.set(id, nowMs);
    if (this.#lastMs.size <= MOST) return;
    for (const oldest of this.#lastMs.keys()) {
      this.#lastMs.delete(oldest);
      return;
    }
  }

  /** Null: not since this process started. */
  lastMs(id: string): number | null {
    return this.#lastMs.get(id) ?? null;
  }
}
