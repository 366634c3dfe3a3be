import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import {
  FIXES,
  fixOf,
  forbiddingSetting,
  NAMESPACE_SETTINGS,
} from '../../../src/tiers/process/fixes.table.ts';

const nothing = () => null;
const only = (path: string, value: string) => (asked: string) => (asked === path ? value : null);
const atNamespaces = { step: 'namespaces', said: 'EPERM', errno: 'EPERM' };

describe('fixOf()', () => {
  test.each(NAMESPACE_SETTINGS)(
    'names the setting $path where it forbids namespaces',
    ({ path, forbids, fix }) => {
      expect(fixOf(atNamespaces, only(path, `${forbids}\n`))).toBe(fix);
      expect(forbiddingSetting(only(path, `${forbids}\n`))?.path).toBe(path);
      // The same setting with the other value explains nothing.
      const other = forbids === '0' ? '1\n' : '0\n';
      expect(forbiddingSetting(only(path, other))).toBeNull();
      expect(fixOf(atNamespaces, only(path, other))).not.toBe(fix);
    },
  );

  test('does not blame a setting for a step that has nothing to do with namespaces', () => {
    const fault = { step: 'rlimit', said: 'EPERM', errno: 'EPERM' };
    expect(fixOf(fault, only('/proc/sys/user/max_user_namespaces', '0\n'))).toContain('ulimit');
  });

  test.each([
    ['namespaces', 'EPERM', 'seccomp=seccomp.json'],
    ['sandbox', 'EPERM', 'seccomp=seccomp.json'],
    ['namespaces', 'ENOSPC', 'outside'],
    ['user-map', 'EACCES', 'container'],
    ['landlock', 'ENOSYS', 'lsm='],
    ['seccomp', 'EINVAL', 'CONFIG_SECCOMP_FILTER'],
    ['cgroup', 'EACCES', 'Delegate=yes'],
    ['start', 'EACCES', 'npm run setup'],
    ['something-new', 'EIO', 'docs/sandbox.md'],
  ])('answers %s with %s by a fix that says "%s"', (step, errno, words) => {
    expect(fixOf({ step, said: errno, errno }, nothing)).toContain(words);
  });

  test('tells a masked /proc from a filter by what bubblewrap printed', () => {
    const said = "bwrap: Can't mount proc on /newroot/proc: Operation not permitted";
    const fix = fixOf({ step: 'sandbox', said, errno: 'EPERM' }, nothing);
    expect(fix).toContain('systempaths=unconfined');
    expect(fix).toContain('procMount: Unmasked');
  });

  test('has no row that another row hides', () => {
    for (const row of FIXES) {
      const [step = ''] = row.steps;
      const errno = row.errnos?.[0] ?? 'EIO';
      expect(fixOf({ step, said: errno, errno }, nothing)).toBe(row.fix);
    }
  });
});

test('docs/sandbox.md has every fix, word for word', () => {
  const page = readFileSync(join(import.meta.dirname, '../../../../../docs/sandbox.md'), 'utf8');
  for (const { fix } of [...FIXES, ...NAMESPACE_SETTINGS]) expect(page).toContain(`| ${fix} |`);
});
