/**
 * A gateway that will be killed: makes a group, starts a command in it, says its name, and waits. The command outlives
 * it, unless somebody sweeps.
 */
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { openCgroups } from '../../../../src/tiers/cgroup/cgroups.ts';

const [realStateDir = '', owner = ''] = process.argv.slice(2);
const group = openCgroups({
  mountinfo: readFileSync('/proc/self/mountinfo', 'utf8'),
  selfCgroup: readFileSync('/proc/self/cgroup', 'utf8'),
  prefix: 'palisade',
  owner: { realStateDir, process: owner },
}).make('left', { memoryBytes: 64 * 1024 * 1024, processes: 16 });
const joins = group.descriptors.map((_, index) => `echo 0 >&${index + 3}`);
const script = `${joins.join(' && ')} && echo joined && exec sleep 60 >/dev/null`;
const child = spawn('/bin/sh', ['-c', script], {
  stdio: ['ignore', 'pipe', 'inherit', ...group.descriptors],
});
child.stdout?.once('data', () => console.log(JSON.stringify(group.facts())));
process.stdin.resume();
