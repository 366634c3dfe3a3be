/** Counts a test run from vitest's JSON report: passed, failed, and the details of the failed ones. */

import { relative } from 'node:path';

/**
 * A file that did not load, an error outside any test, a run without tests and a missing report each count as one
 * failure, because each of them hides tests.
 */
export function readReport(text, { ok, platform }) {
  const files = text === undefined ? undefined : JSON.parse(text).testResults;
  if (!files) return { passed: 0, failed: 1, notes: ['Cannot count tests: vitest wrote no report'] };
  const tests = files.flatMap((file) => file.assertionResults.map((test) => ({ ...test, file: file.name })));
  const passed = tests.filter((test) => test.status === 'passed').length;
  const broken = tests.filter((test) => test.status === 'failed').length;
  const notes = [];
  for (const file of files) {
    if (file.status === 'failed' && !file.assertionResults.some((test) => test.status === 'failed')) {
      notes.push(`Cannot load ${file.name}`);
    }
  }
  for (const test of tests) {
    if (test.status === 'passed' || test.status === 'failed' || platform !== 'linux') continue;
    notes.push(`Cannot skip "${test.fullName}" in ${test.file}: on Linux every test runs`);
  }
  if (tests.length === 0) notes.push('Cannot count tests: none ran');
  if (!ok && broken + notes.length === 0)
    notes.push('Cannot accept the run: vitest failed outside of its tests');
  const failures = tests.filter((test) => test.status === 'failed').map(describeFailure);
  return { passed, failed: broken + notes.length, notes: [...failures, ...notes] };
}

function describeFailure({ fullName, file, failureMessages }) {
  const why = (failureMessages?.[0] ?? 'no reason was given').split('\n')[0].slice(0, 300);
  return `FAIL "${fullName}" in ${file}: ${why}`;
}

const SLOWEST = 30;

/** The test files that took longest, for people who want the run to be shorter. */
export function slowest(text) {
  if (text === undefined) return [];
  const files = JSON.parse(text).testResults.map(({ name, startTime, endTime }) => ({
    name: relative(process.cwd(), name),
    seconds: (endTime - startTime) / 1000,
  }));
  const first = files.sort((a, b) => b.seconds - a.seconds).slice(0, SLOWEST);
  return [`the slowest ${first.length} files:`, ...first.map(describeSlow)];
}

function describeSlow({ name, seconds }) {
  return `${seconds.toFixed(1).padStart(7)} s  ${name}`;
}
