import { type ChangeEvent, changeSkill } from '../../../../invoke/skills/change.ts';
import { chooseVersion } from '../../../../operations/choose-version.ts';
import { skillDocument } from '../../../../operations/skill-document.ts';
import { versionsOf } from '../../../../skills/index/read.ts';
import { nextState } from '../../../../skills/lifecycle.ts';
import type { Reader } from '../../../../store/transaction.ts';
import { textOf } from '../../input.ts';
import type { Invocation } from '../../verb.ts';
import { withGateway } from './act.ts';
import { confirm, type Question, requireAnswerable } from './confirm.ts';
import { parseReference } from './reference.ts';

export type Change = {
  readonly event: ChangeEvent;
  readonly style: 'green' | 'yellow' | 'red';
  /** What it is called afterwards. */
  readonly done: string;
  /** What cannot be taken back, and is asked about; null: it can. */
  readonly warning: string | null;
  /** What to do next; null: nothing. */
  readonly next: ((reference: string) => string) | null;
};

/** Takes one step with a skill; one that cannot be taken back is asked about first. */
export async function change(invocation: Invocation, wanted: Change): Promise<number> {
  const { args, print } = invocation;
  const named = parseReference(args[0] ?? '');
  const { event, warning } = wanted;
  if (warning !== null) requireAnswerable(invocation, questionOf(event, named.id));
  return withGateway(invocation, async (gateway, acting) => {
    const { id, version, state, artifact } = chooseVersion(gateway.store, named, event);
    // Nobody is asked about what cannot be done.
    nextState(state, event, { id, version });
    const all = event === 'revoke' && named.version === null ? revocable(gateway.store, id) : [version];
    if (warning !== null) {
      print.styled('bold', `${id}@${version}`, `  ${state}  sha256 ${artifact}`);
      print.styled('yellow', '! ', warning);
      if (all.length > 1) print.styled('yellow', '! ', `All versions are meant: ${all.join(', ')}.`);
      await confirm(invocation, questionOf(event, id));
    }
    const reason = textOf(invocation, 'reason') ?? null;
    // The version that was shown, whatever is the newest by now.
    const one = all.length > 1 ? null : version;
    const skill = await changeSkill(gateway, { id, version: one, event, reason, ...acting });
    if (print.json) print.document({ event, ...skillDocument(skill) });
    else {
      print.note(
        wanted.done,
        wanted.style,
        `  ${all.map((each) => `${id}@${each}`).join(', ')}${reason === null ? '' : `: ${reason}`}`,
      );
      if (wanted.next !== null) print.note('→', 'cyan', ` ${wanted.next(`${id}@${version}`)}`);
    }
    return 0;
  });
}

/** Boundary: a skill that is revoked by its id has no version left that could be switched on. */
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
