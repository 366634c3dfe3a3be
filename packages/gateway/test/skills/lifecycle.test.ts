import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { CodedError } from '../../src/core/coded-error.ts';
import {
  SKILL_EVENTS,
  SKILL_STATES,
  type SkillEvent,
  type SkillState,
  TRANSITIONS,
} from '../../src/skills/lifecycle.table.ts';
import { eventsFrom, isStep, nextState, transitionOf } from '../../src/skills/lifecycle.ts';

const STATES = Object.keys(SKILL_STATES) as SkillState[];
const EVENTS = Object.keys(SKILL_EVENTS) as SkillEvent[];
const DOCUMENT = readFileSync(new URL('../../../../docs/skills.md', import.meta.url), 'utf8');

/** Written by hand, as an operator would expect it: where each event leads, "gone" where to nowhere, "-" where it is refused. */
const EXPECTED = `
              ingest   audit       quarantine  approve  enable disable  fail   revoke  remove
not-installed ingested -           -           -        -      -        -      -       -
ingested      -        audited     quarantined -        -      -        -      revoked gone
audited       -        -           quarantined -        -      -        -      revoked gone
quarantined   -        quarantined -           approved -      -        -      revoked gone
approved      -        approved    quarantined -        active disabled -      revoked gone
active        -        active      quarantined -        -      disabled failed revoked -
disabled      -        disabled    quarantined -        active -        -      revoked gone
failed        -        failed      quarantined -        active disabled -      revoked gone
revoked       -        -           -           -        -      -        -      -       gone`;

function cells(text: string): string[][] {
  return text
    .trim()
    .split('\n')
    .map((line) => line.trim().split(/\s+/));
}

const [HEAD = [], ...ROWS] = cells(EXPECTED);
const PAIRS = ROWS.flatMap(([state = '', ...tos]) =>
  tos.map((to, i) => [state === 'not-installed' ? null : state, HEAD[i], to] as const),
) as [SkillState | null, SkillEvent, string][];

function refusalOf(from: SkillState | null, event: SkillEvent): CodedError {
  try {
    nextState(from, event);
  } catch (error) {
    if (error instanceof CodedError) return error;
    throw error;
  }
  throw new Error(`Cannot go on: ${event} was not refused`);
}

describe('nextState()', () => {
  it('is asked here for every state and every event', () => {
    expect(PAIRS).toHaveLength((STATES.length + 1) * EVENTS.length);
    expect(new Set(PAIRS.map(([from, event]) => `${from} ${event}`)).size).toBe(PAIRS.length);
    expect([...new Set(PAIRS.map(([, event]) => event))]).toEqual(EVENTS);
  });

  it.each(PAIRS.filter(([, , to]) => to !== '-'))('of %s by %s is %s', (from, event, to) => {
    expect(nextState(from, event)).toBe(to === 'gone' ? null : to);
  });

  it.each(PAIRS.filter(([, , to]) => to === '-'))('of %s by %s is refused', (from, event) => {
    const { code, message, remedy } = refusalOf(from, event);
    expect(code).toBe('skill/wrong-state');
    expect(message).toContain(`Cannot ${event} the skill: it is ${from ?? 'not installed'}, expected `);
    // It says what can be done instead, and that can be done.
    for (const other of eventsFrom(from)) {
      if (from !== null) expect(remedy).toContain(other);
      expect(() => nextState(from, other)).not.toThrow();
    }
  });

  it('names the states that would have been right', () => {
    expect(refusalOf('active', 'approve').message).toBe(
      'Cannot approve the skill: it is active, expected quarantined',
    );
    expect(refusalOf('quarantined', 'enable').message).toBe(
      'Cannot enable the skill: it is quarantined, expected one of approved, disabled, failed',
    );
    expect(refusalOf('active', 'remove').message).toBe(
      'Cannot remove the skill: it is active, expected one of ingested, audited, quarantined, approved, disabled, failed, revoked',
    );
  });

  it('lets nothing become active that was not approved', () => {
    // Every way to `active`, walked backwards, passes `approved`.
    const before = (to: SkillState) =>
      TRANSITIONS.filter((row) => row.to === to && row.from !== to).map(({ from }) => from);
    const seen = new Set<SkillState | null>(['active']);
    const open: (SkillState | null)[] = ['active'];
    for (let state = open.pop(); state !== undefined; state = open.pop()) {
      if (state === null || state === 'approved') continue;
      for (const earlier of before(state)) if (!seen.has(earlier)) open.push(seen.add(earlier) && earlier);
    }
    expect(seen).toEqual(new Set(['active', 'disabled', 'failed', 'approved']));
    expect(before('approved')).toEqual(['quarantined']);
  });
});

describe('transitionOf()', () => {
  it('has one action of Cedar for each event, and a sentence for each step', () => {
    for (const [from, event, to] of PAIRS.filter((pair) => pair[2] !== '-')) {
      const transition = transitionOf(from, event);
      expect(transition).toMatchObject({ from, event, action: SKILL_EVENTS[event] });
      expect([to, transition.sentence]).toEqual([to, expect.stringMatching(/^[A-Z].{10,100}\.$/)]);
    }
    // A skill fails by itself; to Cedar it is disabled.
    expect(SKILL_EVENTS.fail).toBe(SKILL_EVENTS.disable);
    expect(new Set(Object.values(SKILL_EVENTS)).size).toBe(EVENTS.length - 1);
  });
});

describe('isStep()', () => {
  it('knows exactly the pairs that some event makes', () => {
    for (const from of STATES) {
      for (const to of STATES) {
        expect([from, to, isStep(from, to)]).toEqual([
          from,
          to,
          PAIRS.some(([first, , second]) => first === from && second === to),
        ]);
      }
    }
  });
});

describe('docs/skills.md', () => {
  const rows = DOCUMENT.split('\n').filter((line) => line.startsWith('| '));
  const bare = (cell: string) => cell.replaceAll('`', '').replaceAll('*', '').trim();
  const table = (first: string) => {
    const start = rows.findIndex((row) => bare(row.split('|')[1] ?? '') === first);
    return (from: string) =>
      rows
        .slice(start)
        .map((row) => row.split('|').slice(1, -1).map(bare))
        .find(([name]) => name === from);
  };

  it.each(Object.entries(SKILL_STATES))('says what %s means', (state, sentence) => {
    expect(table('State')(state)).toEqual([state, sentence]);
  });

  it.each([null, ...STATES])('says where each event leads from %s', (state) => {
    const matrix = table('In the state');
    expect(matrix('In the state')?.slice(1)).toEqual(EVENTS);
    const tos = EVENTS.map((event) => {
      const row = TRANSITIONS.find((each) => each.from === state && each.event === event);
      return row === undefined ? '–' : (row.to ?? 'removed');
    });
    expect(matrix(state ?? 'not installed')).toEqual([state ?? 'not installed', ...tos]);
  });

  it.each(TRANSITIONS)('has the sentence of $event from $from', ({ from, event, to, action, sentence }) => {
    const line = `| ${event} | ${from ?? 'not installed'} | ${to ?? 'removed'} | ${action} | ${sentence} |`;
    expect(rows.map((row) => row.replaceAll('`', ''))).toContain(line);
  });
});
