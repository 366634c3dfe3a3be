import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { auditDue } from '../../packages/gateway/src/invoke/skills/audit.ts';
import { scratch } from '../fixtures/cli.ts';
import { sharedSkillGateway } from '../fixtures/skills/skill-gateway.ts';

/* What was fine when it was approved is looked at again, by the schedule of the operator and of the manifest. */

const DAY_MS = 86_400_000;
const file = join(scratch(), 'advisories.json');
writeFileSync(file, '[]');
const skillGateway = sharedSkillGateway({
  config: `[skills]\nadvisories = ${JSON.stringify(file)}\nreaudit_after = "7d"\n`,
});

const COMPONENT = '[[components]]\nname = "leftpad"\nversion = "1.2.0"\npurl = "pkg:npm/leftpad@1.2.0"\n';
const ADVISORY = {
  id: 'TEST-2026-1',
  modified: '2026-01-01T00:00:00Z',
  affected: [
    {
      package: { ecosystem: 'npm', name: 'leftpad' },
      ranges: [{ type: 'SEMVER', events: [{ introduced: '0' }, { fixed: '1.3.0' }] }],
    },
  ],
};

/** The schedule, so many days from now. */
function inDays(days: number) {
  const { gateway } = skillGateway();
  const clock = { ...gateway.clock, nowMs: () => gateway.clock.nowMs() + days * DAY_MS };
  return auditDue({ ...gateway, clock }, new AbortController().signal);
}

describe('a skill whose audit is old', () => {
  test('is audited when it is due, goes on when nothing is found, and is put into quarantine by a new advisory', async () => {
    await skillGateway().adopt({ id: 'acme.due', more: COMPONENT });
    expect(await inDays(6)).toEqual([]);
    expect((await inDays(8)).map(({ id, state }) => [id, state])).toEqual([['acme.due', 'active']]);
    writeFileSync(file, JSON.stringify([ADVISORY]));
    expect((await inDays(16)).map(({ id, state }) => [id, state])).toEqual([['acme.due', 'quarantined']]);
    expect((await skillGateway().call('acme.due.plain')).code).toBe('skill/quarantined');
    const last = skillGateway().recordsOf('skill-changed').at(-1);
    expect(last).toMatchObject({ skill: 'acme.due', event: 'quarantine', from: 'active', verdict: 'failed' });
    writeFileSync(file, '[]');
  });

  test('is due sooner where its manifest says so', async () => {
    await skillGateway().adopt({ id: 'acme.soon', more: '[trust]\nreaudit_days = 2\n' });
    expect((await inDays(3)).map(({ id }) => id)).toEqual(['acme.soon']);
  });

  test('is put into quarantine on demand as well', async () => {
    await skillGateway().adopt({ id: 'acme.demand', more: COMPONENT });
    expect((await skillGateway().audit('acme.demand')).state).toBe('active');
    writeFileSync(file, JSON.stringify([ADVISORY]));
    expect((await skillGateway().audit('acme.demand')).state).toBe('quarantined');
    await expect(skillGateway().approve('acme.demand')).rejects.toMatchObject({ code: 'skill/audit-failed' });
    writeFileSync(file, '[]');
  });

  test('is not audited with no advisories at all when the file is gone', async () => {
    await skillGateway().adopt({ id: 'acme.gone', more: COMPONENT });
    writeFileSync(file, 'not json');
    await expect(skillGateway().audit('acme.gone')).rejects.toMatchObject({ code: 'config/invalid' });
    writeFileSync(file, '[]');
    expect(skillGateway().stateOf('acme.gone', '1.0.0')).toBe('active');
  });
});
