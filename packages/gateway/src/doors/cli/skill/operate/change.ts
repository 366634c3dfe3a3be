import type { CodedError } from '../../../../core/coded-error.ts';
import { changeSkill } from '../../../../invoke/skills/change.ts';
import { type Named, requireSkill } from '../../../../invoke/skills/skill-acts.ts';
import { versionsOf } from '../../../../skills/index/read.ts';
import type { SkillSummary } from '../../../../skills/index/skill.ts';
import type { SkillState } from '../../../../skills/lifecycle.table.ts';
import { nextState } from '../../../../skills/lifecycle.ts';
import type { Reader } from '../../../../store/transaction.ts';
import { textOf, wrongUsage } from '../../input.ts';
import type { Invocation } from '../../verb.ts';
import { withGateway } from './act.ts';
import { confirm, type Question, requireAnswerable } from './confirm.ts';
import { skillDocument } from './documents.ts';
import { parseReference } from './reference.ts';

export type Change = {
  readonly event: 'quarantine' | 'enable' | 'disable' | 'revoke' | 'remove';
  /** The states in which a version is meant when none is named: the one that runs, else as `among` says. */
  readonly fits: readonly SkillState[];
  /** The newest version, the one that was changed last, or the only one there is. */
  readonly among: 'newest' | 'latest' | 'only';
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
    const { id, version, state, artifact } = meant(gateway.store, named, wanted);
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

type Meant = Pick<SkillSummary, 'id' | 'version' | 'state' | 'artifact'>;

/** Boundary: with one word, nobody brings back a version that was left, and nobody forgets one that was not meant. */
function meant(reader: Reader, named: Named, { event, fits, among }: Change): Meant {
  const versions = versionsOf(reader, named.id);
  // A row that was meddled with can be taken out of use, although it cannot be read as a whole.
  const pick = (version: string | null): Meant =>
    versions.find((each) => each.version === version) ?? requireSkill(reader, { ...named, version }, fits);
  if (named.version !== null) return pick(named.version);
  const found = versions.filter(({ state }) => fits.includes(state));
  const active = found.find(({ state }) => state === 'active');
  if (active === undefined && among === 'only' && found.length > 1) throw ambiguous(event, named, found);
  const latest = found.toSorted((a, b) => b.changedAtMs - a.changedAtMs)[0];
  const version = (active ?? (among === 'latest' ? latest : found[0]))?.version ?? null;
  return pick(version);
}

/** Boundary: a skill that is revoked by its id has no version left that could be switched on. */
function revocable(reader: Reader, id: string): readonly string[] {
  return versionsOf(reader, id).flatMap(({ version, state }) => (state === 'revoked' ? [] : [version]));
}

function ambiguous(event: string, { id }: Named, found: readonly SkillSummary[]): CodedError {
  const versions = found.map(({ version, state }) => `${version} (${state})`).join(', ');
  return wrongUsage(`Cannot ${event} ${id}: it could be ${versions}, expected one of them as ${id}@VERSION`);
}

function questionOf(event: string, id: string): Question {
  return {
    act: `${event} the skill`,
    question: `Type the id of the skill to ${event} it`,
    answer: id,
    needs: ['yes'],
  };
}
