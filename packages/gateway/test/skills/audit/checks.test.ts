import { describe, expect, test } from 'vitest';
import { CHECKS } from '../../../src/skills/audit/audit.ts';
import { MODULE_TRIALS } from './modules.trials.ts';
import { PACKAGE_TRIALS } from './package.trials.ts';
import { PROSE_TRIALS } from './prose.trials.ts';
import { audit, packageWith } from './sample.ts';
import { SCHEMA_TRIALS } from './schemas.trials.ts';
import type { Difference } from './trial.ts';

const TRIALS = [...PACKAGE_TRIALS, ...MODULE_TRIALS, ...SCHEMA_TRIALS, ...PROSE_TRIALS];

function found(id: string, { change, files, bench }: Difference) {
  return audit(packageWith(change, files), bench).filter((finding) => finding.id === id);
}

describe('a check', () => {
  test.each(TRIALS)('$id speaks of $what', ({ id, bad, says = /./, where }) => {
    const findings = found(id, bad);
    expect(findings.length).toBeGreaterThan(0);
    expect(findings.some(({ sentence }) => says.test(sentence))).toBe(true);
    for (const finding of findings) {
      expect(finding.severity).toBe(CHECKS.find((check) => check.id === id)?.severity);
      expect(finding.sentence).toMatch(/^\S.*\S$/s);
      expect(finding.remedy).toMatch(/^[A-Z].*\.$/);
      if (where !== undefined) expect(finding.where).toBe(where);
    }
  });

  test.each(TRIALS)('$id says nothing of the honest neighbour of $what', ({ id, good }) => {
    expect(found(id, good)).toEqual([]);
  });

  test('of every id is tried', () => {
    const tried = new Set(TRIALS.map(({ id }) => id));
    expect(CHECKS.map(({ id }) => id).filter((id) => !tried.has(id))).toEqual([]);
  });
});
