import { CodedError } from '../core/coded-error.ts';
import { type SkillEvent, type SkillState, TRANSITIONS, type Transition } from './lifecycle.table.ts';

const STEPS: ReadonlyMap<string, Transition> = new Map(
  TRANSITIONS.map((transition) => [keyOf(transition.from, transition.event), transition]),
);
const PAIRS: ReadonlySet<string> = new Set(TRANSITIONS.map(({ from, to }) => `${from} ${to}`));

/** One version of a skill. */
export type SkillRef = { readonly id: string; readonly version: string };

/** Where an event leads from a state; null: it is installed no more. Throws `skill/wrong-state` where it leads nowhere. */
export function nextState(from: SkillState | null, event: SkillEvent, subject?: SkillRef): SkillState | null {
  return transitionOf(from, event, subject).to;
}

/** The whole row of that step, with the action that Cedar is asked for; throws as `nextState` does. */
export function transitionOf(from: SkillState | null, event: SkillEvent, subject?: SkillRef): Transition {
  const transition = STEPS.get(keyOf(from, event));
  // Boundary: what the table does not list cannot be done, whoever requests it.
  if (transition === undefined) throw wrongState(from, event, subject);
  return transition;
}

/** What a caller can do in a state, in the order of the table; a skill fails by itself. */
export function eventsFrom(from: SkillState | null): readonly SkillEvent[] {
  return TRANSITIONS.flatMap(({ from: state, event }) => (state === from && event !== 'fail' ? [event] : []));
}

/** Whether any event leads from one state to the other. */
export function isStep(from: SkillState, to: SkillState): boolean {
  return PAIRS.has(`${from} ${to}`);
}

function keyOf(from: SkillState | null, event: SkillEvent): string {
  return `${from} ${event}`;
}

function wrongState(from: SkillState | null, event: SkillEvent, subject?: SkillRef): CodedError {
  const what = subject === undefined ? 'the skill' : `${subject.id}@${subject.version}`;
  const fits = TRANSITIONS.flatMap((row) => (row.event === event ? [spell(row.from)] : []));
  const expected = fits.length > 2 ? `one of ${fits.join(', ')}` : fits.join(' or ');
  const can = `Possible now: ${eventsFrom(from).join(', ')}. See \`palisade skill show ${subject?.id ?? 'ID'}\`.`;
  const remedy = from === null ? 'Install its package first with `palisade skill install FILE`.' : can;
  const message = `Cannot ${event} ${what}: it is ${spell(from)}, expected ${expected}`;
  return new CodedError('skill/wrong-state', message, { remedy });
}

function spell(state: SkillState | null): string {
  return state ?? 'not installed';
}
