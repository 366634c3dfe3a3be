/** The running calls of skills; each is ended when its skill may no longer be used, whichever process decided so. */
import { Withdrawn } from '../core/coded-error.ts';
import type { Reader } from '../store/transaction.ts';
import { epochOf, versionsOf } from './index/read.ts';
import type { SkillState } from './lifecycle.table.ts';
import type { SkillRef } from './lifecycle.ts';

/** A call that has begun: its signal fires when the skill is withdrawn. */
type Running = { readonly signal: AbortSignal; readonly leave: () => void };

/** How long a call of a skill that another process revoked may continue. */
const LOOK_MS = 250;

/** Calls that may run to the end: a skill that was only switched off, or replaced by a newer version, does no harm. */
const LETS_END: ReadonlySet<SkillState> = new Set(['active', 'approved', 'disabled', 'failed']);

export class RunningSkills {
  readonly #reader: Reader;
  readonly #calls = new Map<AbortController, SkillRef>();
  #timer: NodeJS.Timeout | null = null;
  #epoch = -1;

  constructor(reader: Reader) {
    this.#reader = reader;
  }

  enter(skill: SkillRef): Running {
    const controller = new AbortController();
    this.#calls.set(controller, skill);
    // Boundary: a withdrawal between the start of the call and this line was checked without it.
    this.#epoch = -1;
    this.#timer ??= setInterval(() => this.#lookAgain(), LOOK_MS).unref();
    return {
      signal: controller.signal,
      leave: () => {
        this.#calls.delete(controller);
        if (this.#calls.size === 0) this.close();
      },
    };
  }

  /** Ends the calls whose skill is in quarantine, revoked or gone; called directly after a change in this process. */
  look(): void {
    if (this.#calls.size === 0) return;
    const epoch = epochOf(this.#reader);
    if (epoch === this.#epoch) return;
    this.#epoch = epoch;
    const states = new Map<string, ReadonlyMap<string, SkillState>>();
    for (const [controller, { id, version }] of this.#calls) {
      const known = states.get(id) ?? this.#statesOf(id);
      states.set(id, known);
      const state = known.get(version);
      if (state !== undefined && LETS_END.has(state)) continue;
      controller.abort(new Withdrawn(`skill ${id}@${version} is ${state ?? 'removed'}`));
    }
  }

  close(): void {
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#timer = null;
    this.#epoch = -1;
  }

  #lookAgain(): void {
    try {
      this.look();
    } catch {
      // A database that cannot be read now is tried again later; nothing can be recorded in the meantime either.
      this.#epoch = -1;
    }
  }

  #statesOf(id: string): ReadonlyMap<string, SkillState> {
    return new Map(versionsOf(this.#reader, id).map(({ version, state }) => [version, state]));
  }
}
