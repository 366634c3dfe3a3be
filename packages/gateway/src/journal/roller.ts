import type { Segments } from './segments.ts';

/*
 * Seals full segments while the gateway runs, so that one which is never stopped keeps its live table as small as one
 * that starts for each call. It is told of every growth of the journal, in the middle of a transaction, and so only
 * takes note there; the sealing comes in later turns of the event loop, a slice at a time, and never twice at once.
 */

export class Roller {
  readonly #segments: Pick<Segments, 'roll'>;
  readonly #segmentRecords: number;
  #rolling: Promise<void> | null = null;
  #headSeq = 0;
  /** Below this head there is nothing to seal. */
  #dueAt = 0;

  constructor(segments: Pick<Segments, 'roll'>, segmentRecords: number) {
    this.#segments = segments;
    this.#segmentRecords = segmentRecords;
  }

  /** Takes note that the journal has grown to this record, or is about to. */
  note(headSeq: number): void {
    this.#headSeq = headSeq;
    if (headSeq < this.#dueAt || this.#rolling !== null) return;
    this.#rolling = this.#rollWhileDue()
      // What cannot be sealed now is tried again later, and at the end, where its error is seen.
      .catch(() => undefined)
      .finally(() => {
        this.#rolling = null;
      });
  }

  /** Resolves when nothing is being sealed. */
  async idle(): Promise<void> {
    while (this.#rolling !== null) await this.#rolling;
  }

  /** Seals what is full at the end of a process. */
  async finish(headSeq: number): Promise<void> {
    await this.idle();
    await this.#roll(headSeq);
  }

  async #rollWhileDue(): Promise<void> {
    do {
      // Not before the transaction that told us is over.
      await new Promise((resolve) => setImmediate(resolve));
      await this.#roll(this.#headSeq);
    } while (this.#headSeq >= this.#dueAt);
  }

  async #roll(headSeq: number): Promise<void> {
    // Where sealing fails, it is not tried again with every record.
    this.#dueAt = headSeq + this.#segmentRecords;
    const sealedTo = await this.#segments.roll(headSeq, this.#segmentRecords);
    this.#dueAt = sealedTo + 2 * this.#segmentRecords;
  }
}
