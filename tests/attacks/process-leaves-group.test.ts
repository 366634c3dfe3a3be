import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { USER_UID, userGateway } from '../fixtures/commands/as-user.ts';
import { delegateGroups } from '../fixtures/commands/delegated.ts';
import { sharedGateway } from '../fixtures/commands/index.ts';
import { printedBy, proberOf } from '../fixtures/commands/probe.ts';

/*
 * A command of tier B has the user of the gateway, who may own the control group of the run: it moves itself into the
 * group above, or raises its own limit, and then takes more memory than it may.
 */

const MIB = 1024 * 1024;
const ATTACK = `
import errno, json, mmap, os
trees = [line.split() for line in open('/proc/self/mounts') if line.split()[2] in ('cgroup', 'cgroup2')]
own = [line.strip().split(':', 2) for line in open('/proc/self/cgroup')]
def attempt(path, text):
    try:
        with open(path, 'w') as file: file.write(text)
        return 'written'
    except OSError as error: return errno.errorcode[error.errno]
answers = {'up': set(), 'raised': set()}
for _, names, path in own:
    for _, point, kind, options, *_ in trees:
        if kind == 'cgroup2' and names != '' or kind == 'cgroup' and names not in options.split(','): continue
        if not os.path.exists(point + path) or path == '/': continue
        answers['up'].add(attempt(os.path.dirname(point + path) + '/cgroup.procs', str(os.getpid())))
        for name in ('memory.max', 'memory.memsw.limit_in_bytes', 'memory.limit_in_bytes'):
            if os.path.exists(f'{point}{path}/{name}'): answers['raised'].add(attempt(f'{point}{path}/{name}', str(1 << 40)))
print(json.dumps({key: sorted(value) for key, value in answers.items()}), flush=True)
kept = []
for i in range(200):
    kept.append(mmap.mmap(-1, 1 << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)); kept[-1].write(b'x' * (1 << 20))
`;

const delegated = delegateGroups(USER_UID);
const hasGroups = delegated.directories.length > 0;
const probe = proberOf(sharedGateway());
// Before the gateway, which is in the groups and ends first.
afterAll(() => delegated.remove());
const user = userGateway({ groups: true, starter: delegated.join });

describe('a command of an ordinary user', () => {
  test('neither leaves a group that belongs to its user nor raises its limit, or its receipt claims none', async () => {
    writeFileSync(join(user.workspace, 'leaves.py'), ATTACK, { mode: 0o644 });
    const input = { command: '/usr/bin/python3', args: ['leaves.py'], tier: 'b' };
    const [end] = await user.run({ shape: 'b', input: { ...input, limits: { memory_bytes: 64 * MIB } } });
    const held = {
      code: 'tier/out-of-memory',
      output: { stdout: '{"up": ["EROFS"], "raised": ["EROFS"]}\n' },
    };
    const isolation = end?.execution?.isolation ?? {};
    expect(end, end?.message).toMatchObject(hasGroups ? held : { code: 'tier/exited' });
    expect(isolation.limit_memory).toMatch(hasGroups ? /^control group/ : /^not held/);
    expect(isolation.cgroups_rw).toBe('');
  });

  test('would leave the group, were its files not closed', () => {
    const [memory = '/nonexistent'] = delegated.directories.filter((each) => !each.includes('/pids/'));
    const script = `mkdir ${memory}/control && echo $$ > ${memory}/control/cgroup.procs && exec /usr/bin/python3 -`;
    const bare = hasGroups ? ['/bin/sh', '-c', script] : ['/usr/bin/python3', '-'];
    const identity = process.getuid?.() === 0 ? ['setpriv', `--reuid=${USER_UID}`, '--clear-groups'] : [];
    const [file = '', ...words] = [...delegated.join(), ...identity, ...bare];
    const { stdout, stderr } = spawnSync(file, words, { input: ATTACK, encoding: 'utf8' });
    const { up } = JSON.parse(stdout === '' ? stderr : stdout) as { up: readonly string[] };
    expect(up.includes('written')).toBe(hasGroups);
  });
});

test('a command of a gateway that may be root opens no file of a group for writing', async () => {
  const end = await probe(ATTACK, { limits: { memory_bytes: 512 * MIB } });
  expect(end, end.message).toMatchObject({ code: 'ok', execution: { isolation: { cgroups_rw: '' } } });
  for (const answer of Object.values(printedBy(end)).flat()) expect(answer).toMatch(/^(EROFS|EACCES)$/);
});
