import { isoTime } from '../../../core/clock.ts';
import { summaryDocument } from '../../../operations/skill-document.ts';
import { pageOf } from '../../../skills/index/read.ts';
import { SKILL_STATES, type SkillState } from '../../../skills/lifecycle.table.ts';
import { numberOf, textOf, wrongUsage } from '../input.ts';
import type { Invocation } from '../verb.ts';

const CURSOR = /^[a-z0-9.-]{1,64}:[0-9]{1,15}$/;

export async function run(invocation: Invocation): Promise<number> {
  const { print } = invocation;
  const limit = numberOf(invocation, 'limit', { min: 1, max: 1000, absent: 20 });
  const [state, after] = [stateOf(invocation), cursorOf(invocation)];
  const records = await invocation.openRecords();
  try {
    const { skills, next } = pageOf(records.store, { after, limit, state });
    if (print.json) {
      print.document({ skills: skills.map(summaryDocument), cursor: next });
      return 0;
    }
    if (skills.length === 0) print.line(state === null ? 'No skill is installed.' : `No skill is ${state}.`);
    else {
      print.table(
        ['ID', 'VERSION', 'STATE', 'PUBLISHER', 'AUDIT', 'TOOLS', 'CHANGED'],
        skills.map(({ id, version, state: is, publisher, verdict, tools, changedAtMs }) => [
          ...[id, version, is, publisher, verdict ?? '-', String(tools), isoTime(changedAtMs)],
        ]),
      );
    }
    if (next !== null) print.note(`More: palisade skill list${again(state, limit)} --cursor ${next}`);
    return 0;
  } finally {
    await records.close();
  }
}

function again(state: SkillState | null, limit: number): string {
  return `${state === null ? '' : ` --only ${state}`}${limit === 20 ? '' : ` --limit ${limit}`}`;
}

function stateOf(invocation: Invocation): SkillState | null {
  const raw = textOf(invocation, 'only');
  if (raw === undefined) return null;
  const states = Object.keys(SKILL_STATES) as SkillState[];
  const state = states.find((each) => each === raw);
  if (state !== undefined) return state;
  throw wrongUsage(`Cannot list "${raw}": it is no state, expected one of ${states.join(', ')}`);
}

function cursorOf(invocation: Invocation): string | null {
  const raw = textOf(invocation, 'cursor') ?? null;
  if (raw === null || CURSOR.test(raw)) return raw;
  throw wrongUsage(
    `Cannot go on after "${raw}": it is no cursor, expected the one that the page before gave`,
  );
}
