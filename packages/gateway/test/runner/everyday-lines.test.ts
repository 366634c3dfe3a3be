import { describe, expect, it } from 'vitest';
import { DEFAULT_SETTINGS } from '../../src/runner/settings.ts';
import { COMMANDS, SHELL_LINES } from './everyday-lines.ts';
import { ask, makeHost } from './sample.ts';

const HOST_SETTINGS = { ...DEFAULT_SETTINGS, loosestEgress: 'none' } as const;

/** Why a command is refused; null if it is not. */
function refusals(tier: 'b' | 'c', commands: readonly (readonly [string, ...string[]])[]): readonly string[] {
  const host = makeHost();
  const { workspaceRoots, defaultWorkspace } = host.settings;
  const settings = { ...HOST_SETTINGS, workspaceRoots, defaultWorkspace };
  return commands.flatMap(([command, ...args]) => {
    const answer = ask(host, { command, args, tier }, settings);
    return answer.ok ? [] : [`${[command, ...args].join(' ')}: ${answer.message}`];
  });
}

const LINES = SHELL_LINES.map((line, at) =>
  at % 8 === 0 ? (['bash', '-lc', line] as const) : (['sh', '-c', line] as const),
);

describe('termsOf() refuses nothing that coding agents write every day', () => {
  it('has at least 150 lines', () => {
    expect(SHELL_LINES.length + COMMANDS.length).toBeGreaterThanOrEqual(150);
    expect(new Set(SHELL_LINES).size).toBe(SHELL_LINES.length);
  });

  it.each(['b', 'c'] as const)('in tier %s', (tier) => {
    expect(refusals(tier, [...LINES, ...COMMANDS])).toEqual([]);
  });
});

/** Lines of the same kind that do lead out. */
const LEADING_OUT = [
  'cat /etc/shadow 2>/dev/null | head',
  'echo x > /etc/x',
  'echo x >> "/etc/x"',
  'sed s,/a,/b, /etc/passwd',
  "grep -rn '/api' /etc",
  "awk -F: '{print $1}' /etc/passwd",
  'find /root -name x',
  "find . -exec cp {} /home/ ';'",
  'git -C /etc status',
  'git diff --no-index /etc/passwd a',
  'xargs cat /etc/passwd < list',
  'x=$(cat /etc/passwd)',
  'cat `ls /etc/passwd`',
  'diff <(cat /etc/passwd) a',
  'if [ -f /etc/shadow ]; then echo; fi',
  'for f in /etc/*.conf; do cat "$f"; done',
  'case x in x) cat /etc/passwd ;; esac',
  'cat <<EOT > /etc/x\nhello\nEOT',
  'cd src && cat ../../outside/x',
  'cat ../outside/canary.txt',
  'curl -s file:///etc/passwd',
  'tar czf /tmp/x.tgz /etc',
  'dd if=/dev/sda of=/tmp/x',
  'gcc -I../../x a.c',
  'cp --target-directory=/home/x a',
  'cat </etc/passwd',
  'cat /proc/1/environ',
  'bash -c "cat /etc/passwd"',
  'timeout 5 env A=1 cat /etc/passwd',
  'ls ~root',
];

it.each(LEADING_OUT)('termsOf() in tier B refuses the line %j, which tier C leaves to the kernel', (line) => {
  const host = makeHost();
  const args = ['-c', line];
  expect(ask(host, { command: 'sh', args, tier: 'b' })).toMatchObject({ code: 'runner/outside-workspace' });
  expect(ask(host, { command: 'sh', args, tier: 'c' })).toMatchObject({ ok: true });
});
