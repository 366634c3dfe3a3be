import { readFileSync } from 'node:fs';

/**
 * Lines as coding agents write them for `sh -c`: none of them leaves the workspace, the system or /tmp, so reading their
 * arguments must refuse none. `~` and `$HOME` are the workspace. A tab continues the line above.
 */
export const SHELL_LINES: readonly string[] = readFileSync(
  new URL('everyday-lines.txt', import.meta.url),
  'utf8',
)
  .trimEnd()
  .split(/\n(?!\t)/)
  .map((line) => line.replaceAll('\n\t', '\n'));

/** Commands as coding agents pass them without a shell. */
export const COMMANDS: readonly (readonly [string, ...string[]])[] = [
  ['sed', 's:/usr:/opt:', 'a.txt'],
  ['sed', '-e', 's,/a,/b,', '-i', 'a.txt'],
  ['sed', '-i', 's|/etc/x|/etc/y|', 'a.txt'],
  ['awk', '-F/', '{print $1}', 'a.txt'],
  ['awk', '/hi/', 'a.txt'],
  ['grep', '-rn', '/etc', 'src'],
  ['grep', '-rn', '--include=*.ts', '-e', '/root', 'src'],
  ['find', '.', '-path', '*/node_modules/*', '-prune', '-o', '-name', '*.ts', '-print'],
  ['find', '.', '-type', 'f', '-exec', 'grep', '-l', '/root', '{}', '+'],
  ['git', 'show', 'HEAD:/x'],
  ['git', 'show', 'HEAD~2:/etc/x'],
  ['git', 'log', '--format=%h:/etc'],
  ['git', 'log', '--pretty=format:%h:/root %s'],
  ['git', 'commit', '-m', 'docs:/etc/hosts is read;/root is not'],
  ['git', '-C', 'sub', 'commit', '--message=x:/etc'],
  ['tr', '/', '-'],
  ['cut', '-d/', '-f1', 'a.txt'],
  ['sort', '-t', '/', 'a.txt'],
  ['date', '+%d/%m'],
  ['basename', '/etc/passwd'],
  ['echo', '/etc/passwd'],
  ['printf', '%s\n', '/etc/passwd'],
  ['python3', '-c', 'print(1);x=/etc'],
  ['node', '-e', 'x:/etc/'],
  ['perl', '-ne', 'print if m,/etc,'],
  ['env', 'A=/etc', 'printenv', 'A'],
  ['timeout', '5', 'grep', '-q', '/etc', 'a.txt'],
  ['xargs', '-I{}', 'grep', '/etc', '{}'],
  ['cat', '/tmp/x', '/dev/null', '/dev/stdin', '/proc/self/status'],
  ['tar', '--transform=s,/a,/etc,', '-cf', '/tmp/x.tar', '.'],
  ['test', '/', '=', '/'],
];
