import { constantFrom, assert as hold, property, uint8Array } from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { ChildEnd } from '../../../src/tiers/child/child.ts';
import { attemptOf, firstLine } from '../../../src/tiers/process/attempt.ts';

const EMPTY = new Uint8Array(0);
const HELD = Buffer.from('launcher=1\nfact.nnp=1\npid=2\nexit=0\ndone=1\n');

function ended(changes: Partial<ChildEnd> = {}): ChildEnd {
  return {
    ...{ exitCode: 0, signal: null, stdout: EMPTY, stderr: EMPTY, outputBytes: 0, truncated: false },
    ...{ stopped: null, read: [], wallMs: 1, spawnError: null },
    ...changes,
  };
}

const saying = (text: string) => ended({ exitCode: 1, stderr: Buffer.from(text) });

describe('attemptOf()', () => {
  test('takes a report that says exit=0 for a start that went well, with its facts', () => {
    expect(attemptOf(ended(), HELD)).toEqual({ ok: true, value: expect.objectContaining({ nnp: '1' }) });
  });

  test.each([
    ['no report, although the exit status is 0', ended(), EMPTY, 'sandbox'],
    ['another exit status', ended(), Buffer.from('launcher=1\npid=2\nexit=3\ndone=1\n'), 'command'],
    ['a start that the system refused', ended({ spawnError: 'EACCES' }), HELD, 'start'],
    ['a start that took too long', ended({ stopped: 'timed-out' }), HELD, 'end'],
    ['an execution that failed', ended(), Buffer.from('launcher=1\nexecerror=13 EACCES\n'), 'execute'],
  ])('takes %s for a fault', (_, end, status, step) => {
    expect(attemptOf(end, status)).toMatchObject({ ok: false, problem: { step } });
  });

  test.each([
    ['bwrap: Creating new namespace failed: exceeded (ENOSPC)', 'ENOSPC'],
    ['bwrap: No permissions to create new namespace, likely because the kernel does not allow it', 'EPERM'],
    ['bwrap: setting up uid map: Permission denied', 'EACCES'],
    ["bwrap: Can't bind mount /oldroot/x on /newroot/x: Invalid argument", 'EINVAL'],
    ["bwrap: Can't find source path /x: No such file or directory", 'ENOENT'],
    ['bwrap: something new', null],
  ])('reads "%s" as %s', (text, errno) => {
    expect(attemptOf(saying(`${text}\n`), EMPTY)).toMatchObject({
      problem: { step: 'sandbox', said: text, errno },
    });
  });

  test('never takes other bytes than such a report for a start that went well, and never throws', () => {
    hold(
      property(uint8Array({ maxLength: 200 }), constantFrom(0, 1, null), (status, exitCode) => {
        const attempt = attemptOf(ended({ exitCode, stderr: status }), status);
        return !attempt.ok && typeof attempt.problem.said === 'string';
      }),
    );
  });
});

test('firstLine() is one short line of printable signs, whatever was printed', () => {
  hold(property(uint8Array({ maxLength: 600 }), (bytes) => /^[ -~]{0,200}$/.test(firstLine(bytes))));
  expect(firstLine(Buffer.from('\n\nbwrap: \u001b[2Jno\r\nmore'))).toBe('bwrap: ?[2Jno?');
});
