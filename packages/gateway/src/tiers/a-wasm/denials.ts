import type { HostDenial } from '../../core/call-log.ts';
import { DENIALS, type DenialRow, type DenialWhy } from './denials.table.ts';

/** Why one host call was denied, as its handler knows it. */
export type Denial = { readonly why: DenialWhy; readonly argument: string | null };

/** Different denials of one call that are kept; the rest is counted. */
const MOST_DENIALS = 16;
/** More than is ever shown of an argument; values of secrets are searched for in it. */
const MOST_ARGUMENT_CHARS = 2_000;

/** The denials of one call: each different one once, with how often it happened. */
export class Denials {
  readonly #skill: string | null;
  readonly #found = new Map<string, HostDenial>();
  #more = 0;
  #isHiding = false;

  /** Null: the module is not that of an installed skill. */
  constructor(skill: string | null) {
    this.#skill = skill;
  }

  /** From now on what the guest chose is not kept: it has read a secret, and could put the value into a name. */
  hideArguments(): void {
    this.#isHiding = true;
  }

  add(name: string, { why, argument: given }: Denial): void {
    const argument = given === null || this.#isHiding ? null : given.slice(0, MOST_ARGUMENT_CHARS);
    const key = JSON.stringify([name, why, argument]);
    const before = this.#found.get(key);
    // Boundary: a guest that is denied in a thousand ways does not fill its record.
    if (before === undefined && this.#found.size >= MOST_DENIALS) this.#more += 1;
    else this.#found.set(key, { ...this.#described(name, why, argument), times: (before?.times ?? 0) + 1 });
  }

  get list(): readonly HostDenial[] {
    return [...this.#found.values()];
  }

  /** How many happened beside those in the list. */
  get more(): number {
    return this.#more;
  }

  #described(name: string, why: DenialWhy, argument: string | null): Omit<HostDenial, 'times'> {
    const { sentence, remedy, tried, triedSentence = sentence }: DenialRow = DENIALS[why];
    const about = { function: name, argument, why };
    return this.#skill === null
      ? { ...about, sentence: triedSentence, remedy: tried }
      : { ...about, sentence, remedy: remedy.replaceAll('SKILL', this.#skill) };
  }
}
