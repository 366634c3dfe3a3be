import { execFileSync } from 'node:child_process';
import { assert as hold, property, string } from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { ProcessTerms } from '../../../src/core/process.ts';
import { planSeatbelt } from '../../../src/tiers/c-seatbelt/plan.ts';
import { canonicalPath, quote } from '../../../src/tiers/c-seatbelt/profile.ts';
import { DENIED_SERVICES, NAME_SERVICES } from '../../../src/tiers/c-seatbelt/system.table.ts';
import { sampleTerms } from '../terms.ts';

const HOST = { sandboxExec: '/usr/bin/sandbox-exec', temporary: '/var/folders/zz/run-1' };
const HOME = '/Users/ada/project';
const HOSTILE = '/Users/ada/a")\n(allow default)(x "\\';

function planned(terms: Partial<ProcessTerms> = {}) {
  const plan = planSeatbelt(sampleTerms({ workspace: HOME, ...terms }), HOST);
  if (!plan.ok) throw new Error(plan.message);
  return plan;
}

type Read = { readonly value: Node; readonly rest: string };
type Node = string | readonly Node[];

/** Reads the profile language as its interpreter does: lists, words, strings with escapes, patterns. */
function readNode(text: string): Read {
  const source = text.trimStart();
  const pattern = /^#"([^"]*)"/.exec(source);
  if (pattern !== null) return { value: `#${pattern[1]}`, rest: source.slice(pattern[0].length) };
  const quoted = /^"((?:[^"\\]|\\.)*)"/s.exec(source);
  if (quoted !== null) return { value: `"${unquote(quoted[1] ?? '')}`, rest: source.slice(quoted[0].length) };
  if (!source.startsWith('(')) {
    const [word = ''] = /^[^\s()"]+/.exec(source) ?? [];
    if (word === '') throw new Error(`Cannot read the profile at "${source.slice(0, 20)}"`);
    return { value: word, rest: source.slice(word.length) };
  }
  const items: Node[] = [];
  let rest = source.slice(1).trimStart();
  while (!rest.startsWith(')')) {
    const item = readNode(rest);
    items.push(item.value);
    rest = item.rest.trimStart();
  }
  return { value: items, rest: rest.slice(1) };
}

function readProfile(text: string): Node[] {
  const rules: Node[] = [];
  for (let rest = text; rest.trim() !== ''; ) {
    const read = readNode(rest);
    rules.push(read.value);
    rest = read.rest;
  }
  return rules;
}

function unquote(text: string): string {
  return text.replaceAll(/\\(x[0-9a-f]{2}|.)/gs, (_, sign: string) => {
    if (sign === 'n') return '\n';
    return sign.length === 3 ? String.fromCharCode(Number.parseInt(sign.slice(1), 16)) : sign;
  });
}

/** The acts of rules with the given verdict, in order. */
function acts(profile: string, verdict: string): string[] {
  return readProfile(profile).flatMap((rule) =>
    Array.isArray(rule) && rule[0] === verdict
      ? rule.slice(1).filter((word) => typeof word === 'string')
      : [],
  ) as string[];
}

describe('planSeatbelt() writes a profile that a reviewer can read', () => {
  test.each<[string, Partial<ProcessTerms>]>([
    ['strict', {}],
    ['shared-network', { egress: 'none', readOnly: ['/opt/homebrew'], executable: '/opt/homebrew/bin/jq' }],
    ['protected-paths', { protectedPaths: ['.git/hooks', '.envrc'] }],
    ['hostile-path', { workspace: HOSTILE }],
    ['temporary-workspace', { workspace: '/tmp/build', cwd: '/tmp/build/src' }],
  ])('%s', async (name, terms) => {
    const plan = planned(terms);
    await expect(plan.profile).toMatchFileSnapshot(`golden/${name}.sb`);
    expect(plan.argv.slice(0, 3)).toEqual(['sandbox-exec', '-p', plan.profile]);
  });
});

describe('a path in a profile', () => {
  test('is a string that means the path, whatever it holds', () => {
    hold(
      property(string({ unit: 'binary' }), (path) => {
        const { value, rest } = readNode(`${quote(path)})`);
        expect([value, rest]).toEqual([`"${path}`, ')']);
        expect(quote(path)).not.toMatch(/[\n\r\t]/);
      }),
    );
  });

  test('adds no rule, whatever it holds', () => {
    const plain = readProfile(planned().profile);
    const hostile = readProfile(
      planned({ workspace: HOSTILE, readOnly: ['/Users/ada/") (allow default) ("'] }).profile,
    );
    expect(hostile.map((rule) => rule[0])).toEqual(plain.map((rule) => rule[0]));
    expect(JSON.stringify(hostile)).toContain(JSON.stringify(`"${HOSTILE}`));
    expect(acts(planned({ workspace: HOSTILE }).profile, 'allow')).not.toContain('default');
    // The control: without the escapes the path is a rule.
    const torn = planned().profile.replaceAll(HOME, '/a")) (allow default) (x (y "');
    expect(acts(torn, 'allow')).toContain('default');
  });

  test.each([
    ['/tmp', '/private/tmp'],
    ['/tmp/x', '/private/tmp/x'],
    ['/var/folders/zz', '/private/var/folders/zz'],
    ['/etc/ssl', '/private/etc/ssl'],
    ['/private/tmp/x', '/private/tmp/x'],
    ['/tmpx', '/tmpx'],
    ['/System/Volumes/Data/Users/ada', '/Users/ada'],
    ['/System/Volumes/Data/private/tmp', '/private/tmp'],
    ['/System/Volumes/DataX', '/System/Volumes/DataX'],
  ])('%s is compared as %s', (path, canonical) => {
    expect(canonicalPath(path)).toBe(canonical);
  });
});

describe('a profile', () => {
  test('denies all else first, and by name last', () => {
    const rules = readProfile(planned().profile).slice(1);
    expect(rules[0]).toEqual(['deny', 'default']);
    const verdicts = rules.slice(1).map((rule) => rule[0]);
    expect(verdicts.lastIndexOf('allow')).toBeLessThan(verdicts.indexOf('deny'));
  });

  test('allows no network where there is to be none, not even names', () => {
    const strict = planned().profile;
    expect(acts(strict, 'allow').filter((act) => /^(network|system-socket)/.test(act))).toEqual([]);
    expect(readProfile(strict).at(-1)).toEqual(['deny', 'network*']);
    for (const { name } of NAME_SERVICES) expect(strict).toContain(`(global-name "${name}")`);
    expect(strict).not.toContain('mDNSResponder")\n  (literal');
    expect(acts(planned({ egress: 'preflight' }).profile, 'allow')).toContain('network-outbound');
  });

  test('denies the services that would act outside, with and without a network', () => {
    for (const egress of ['strict', 'none'] as const) {
      const rules = readProfile(planned({ egress }).profile).filter((rule) => rule[1] === 'mach-lookup');
      const denied = rules.filter((rule) => rule[0] === 'deny');
      const allowed = JSON.stringify(rules.filter((rule) => rule[0] === 'allow'));
      for (const { name } of DENIED_SERVICES) {
        expect(JSON.stringify(denied)).toContain(name);
        expect(allowed).not.toContain(`"\\"${name}"`);
      }
    }
  });

  test('shows no home and lets nothing be written but the workspace and the directory of the run', () => {
    const rules = readProfile(planned().profile);
    const writes = rules.filter((rule) => rule[0] === 'allow' && rule[1] === 'file-write*');
    expect(writes).toEqual([
      ['allow', 'file-write*', ['subpath', `"${HOME}`], ['subpath', '"/private/var/folders/zz/run-1']],
    ]);
    const trees = JSON.stringify(rules.filter((rule) => rule[0] === 'allow').map((rule) => rule.slice(1)));
    expect(trees).not.toContain(JSON.stringify(['subpath', '"/Users']).slice(0, -1));
  });

  test('protects a path in any case of its letters, and the directories above it from moves', () => {
    const { profile } = planned({ protectedPaths: ['.git/hooks'] });
    const patterns = Array.from(profile.matchAll(/#"([^"]*)"/g), ([, pattern]) => new RegExp(pattern ?? ''));
    const [itself, above] = patterns;
    for (const path of ['.git/hooks', '.GIT/Hooks', '.git/hooks/pre-commit'])
      expect(`${HOME}/${path}`).toMatch(itself ?? /$^/);
    for (const path of ['xgit/hooks', '.git/hooks2', '.github'])
      expect(`${HOME}/${path}`).not.toMatch(itself ?? /./);
    expect(`${HOME}/.Git`).toMatch(above ?? /$^/);
    expect(`${HOME}/.git/x`).not.toMatch(above ?? /./);
  });
});

describe('planSeatbelt()', () => {
  test.each<[string, Partial<ProcessTerms>, RegExp]>([
    ['a protected path that would be a pattern', { protectedPaths: ['a.*|b'] }, /cannot match/],
    ['a protected path that would end a pattern', { protectedPaths: ['a")(allow default)'] }, /cannot match/],
    ['all homes to read', { readOnly: ['/Users'] }, /all homes/],
    ['the whole host to read', { readOnly: ['/'] }, /all homes/],
    ['a read-only path in the workspace', { readOnly: [`${HOME}/lib`] }, /lies in the workspace/],
    ['a program that is not shown', { executable: '/opt/homebrew/bin/jq' }, /not shown/],
    ['the system for a workspace', { workspace: '/private' }, /holds "\/private\/etc"/],
  ])('refuses %s', (_, terms, message) => {
    const refusal = planSeatbelt(sampleTerms({ workspace: HOME, ...terms }), HOST);
    expect(refusal).toMatchObject({ ok: false, code: 'tier/unenforceable' });
    expect(refusal.ok ? '' : refusal.message).toMatch(message);
  });

  test('sets limits in a shell that hands every word on as it is, and says what it cannot hold', () => {
    const plan = planned({ executable: '/bin/echo', argv: ['echo', '$(id)', '"; id', '--x'] });
    const [, , , shell = '', ...words] = plan.argv;
    const said = execFileSync(shell, words, { encoding: 'utf8' });
    expect(said).toBe('$(id) "; id --x\n');
    const line = words[1]?.replace('exec "$@"', 'ulimit -t && ulimit -n && ulimit -Hc') ?? '';
    expect(execFileSync(shell, ['-c', line], { encoding: 'utf8' })).toBe('11\n256\n0\n');
    expect(plan.unheld).toEqual(['memory', 'processes']);
  });
});
