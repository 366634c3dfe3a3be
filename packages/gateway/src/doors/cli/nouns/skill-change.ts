import type { ChangeEvent } from '../../../invoke/skills/change.ts';
import { chooseVersion } from '../../../operations/choose-version.ts';
import { versionsOf } from '../../../skills/index/read.ts';
import { nextState } from '../../../skills/lifecycle.ts';
import type { Reader } from '../../../store/transaction.ts';
import { confirm, type Question, requireAnswerable } from '../ask.ts';
import { textOf, wrongUsage } from '../input.ts';
import { actAs } from '../opened.ts';
import { operate, operateOn } from '../operate.ts';
import { parseReference } from '../skill/package-file.ts';
import type { Invocation, VerbRun } from '../verb.ts';

type Change = {
  readonly style: 'green' | 'yellow' | 'red';
  /** What the skill is afterwards. */
  readonly done: string;
  /** What cannot be undone, and so is confirmed first; left out: it can be undone. */
  readonly warning?: string;
  /** What to run next. */
  readonly next?: (reference: string) => string;
};

const CHANGES: Readonly<Record<ChangeEvent, Change>> = {
  quarantine: {
    style: 'yellow',
    done: 'quarantined',
    next: (skill) => `to let it run again: palisade skill approve ${skill}`,
  },
  enable: { style: 'green', done: 'enabled' },
  disable: {
    style: 'yellow',
    done: 'disabled',
    next: (skill) => `to enable it again: palisade skill enable ${skill}`,
  },
  revoke: {
    style: 'red',
    done: 'revoked',
    warning: 'These exact bytes never run again, and running calls are ended. This cannot be undone.',
  },
  remove: {
    style: 'yellow',
    done: 'removed',
    warning: 'The package and its grant are deleted; the journal keeps what was done.',
  },
};

export const quarantine: VerbRun = (invocation) => change(invocation, 'quarantine');
export const enable: VerbRun = (invocation) => change(invocation, 'enable');
export const disable: VerbRun = (invocation) => change(invocation, 'disable');
export const revoke: VerbRun = (invocation) => change(invocation, 'revoke');
export const remove: VerbRun = (invocation) => change(invocation, 'remove');

/** Takes a skill one step through its life; a step that cannot be undone is confirmed first. */
async function change(invocation: Invocation, event: ChangeEvent): Promise<number> {
  const { args, print } = invocation;
  const { id: named, version: chosen = null } = parseReference(args[0] ?? '');
  const { style, done, warning, next } = CHANGES[event];
  if (warning !== undefined) requireAnswerable(invocation, questionOf(event, named));
  return actAs(invocation, async (gateway) => {
    const { id, version, state, artifact } = chooseVersion(
      gateway.store,
      { id: named, version: chosen },
      event,
    );
    // No one is asked about a step that cannot be taken.
    nextState(state, event, { id, version });
    const all = event === 'revoke' && chosen === null ? revocable(gateway.store, id) : [version];
    if (warning !== undefined) {
      print.styled('bold', `${id}@${version}`, `  ${state}  sha256 ${artifact}`);
      print.styled('yellow', '! ', warning);
      if (all.length > 1) print.styled('yellow', '! ', `It applies to all versions: ${all.join(', ')}.`);
      await confirm(invocation, questionOf(event, id));
    }
    const reason = textOf(invocation, 'reason');
    // The version that was shown, whatever the newest one is by now.
    const input = { id, version: all.length > 1 ? undefined : version, reason };
    const skill = await operateOn(invocation, gateway, `${event}Skill`, input);
    return print.result(skill, () => {
      const changed = all.map((each) => `${id}@${each}`).join(', ');
      print.note(done, style, `  ${changed}${reason === undefined ? '' : `: ${reason}`}`);
      if (next !== undefined) print.next(next(`${id}@${version}`));
    });
  });
}

/** Boundary: a skill that is revoked by its id has no version left that could be enabled. */
function revocable(reader: Reader, id: string): readonly string[] {
  return versionsOf(reader, id).flatMap(({ version, state }) => (state === 'revoked' ? [] : [version]));
}

function questionOf(event: string, id: string): Question {
  return {
    act: `${event} the skill`,
    question: `Type the id of the skill to ${event} it`,
    answer: id,
    needs: ['yes'],
  };
}

/** Goes back to the version that was active before. */
export async function rollback(invocation: Invocation): Promise<number> {
  const { args, print } = invocation;
  const { id, version } = parseReference(args[0] ?? '');
  if (version !== undefined)
    throw wrongUsage(
      `Cannot roll back to "${args[0]}": it names a version, expected the id alone; use \`skill enable\` for a version`,
    );
  const input = { id, reason: textOf(invocation, 'reason') };
  const step = await operate(invocation, 'rollbackSkill', input);
  return print.result(step, () =>
    print.note('rolled back', 'green', `  ${id} from ${step.from ?? 'nothing'} to ${step.to}`),
  );
}
