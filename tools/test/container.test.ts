import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { ADDED, MARK, profileText } from '../container/seccomp.mjs';
import { STARTED } from '../container/trials.mjs';

const root = join(import.meta.dirname, '../..');
const read = (path: string) => readFileSync(join(root, path), 'utf8');

const version: string = JSON.parse(read('packages/gateway/package.json')).version;

/** The instructions, without comments and with lines that go on joined. */
const instructions = read('deploy/container/Dockerfile')
  .replace(/^\s*#.*\n/gm, '')
  .replace(/\\\n\s*/g, '')
  .split('\n')
  .filter((line) => line !== '')
  .map((line): [name: string, words: string] => {
    const [, name = '', words = ''] = /^([A-Z]+) (.*)$/.exec(line) ?? [];
    return [name, words];
  });
const all = (name: string) => instructions.filter(([each]) => each === name).map(([, words]) => words);
const last = (name: string) => all(name).at(-1) ?? '';

describe('the image', () => {
  test('comes from one image with an exact version, and from the archives of a release that were checked', () => {
    const [node, registry, ...others] = all('ARG');
    expect(others).toEqual([]);
    expect(node).toMatch(/^NODE_IMAGE=docker\.io\/library\/node:\d+\.\d+\.\d+-bookworm-slim$/);
    expect(registry).toBe('NPM_REGISTRY=');
    expect(all('FROM')).toEqual(['$' + '{NODE_IMAGE} AS install', '$' + '{NODE_IMAGE}']);
    const [install = ''] = all('RUN');
    expect(install.indexOf('sha256sum --check --strict')).toBeLessThan(install.indexOf('npm install'));
    expect(install).toContain('--ignore-scripts');
    expect(all('ADD')).toEqual([]);
  });

  test('starts as a user that is not root, who owns nothing of what is run, and without setuid programs', () => {
    expect(last('USER')).toBe('10001:10001');
    expect(instructions.findIndex(([name]) => name === 'USER')).toBeGreaterThan(
      instructions.map(([name]) => name).lastIndexOf('RUN'),
    );
    expect(all('COPY').filter((words) => /--chown|--chmod/.test(words))).toEqual([]);
    expect(all('RUN').join()).toContain('find / -xdev -perm /6000 -type f -exec chmod a-s');
  });

  test('has no secret: no such argument, variable or file', () => {
    const named = [...all('ARG'), ...all('ENV')].join(' ');
    expect(named).not.toMatch(/token|secret|passw|_key|credential/i);
    expect(read('deploy/container/Dockerfile.dockerignore').trim().split('\n')).toEqual([
      '*',
      '!dist/release',
      '!deploy/container',
    ]);
  });

  test('keeps the state in a folder of the volume, and stops by the signal that drains', () => {
    const [, state = ''] = /PALISADE_STATE=(\S+)/.exec(last('ENV')) ?? [];
    const volumes: string[] = JSON.parse(last('VOLUME'));
    expect(volumes.some((path) => state.startsWith(`${path}/`))).toBe(true);
    expect(last('STOPSIGNAL')).toBe('SIGTERM');
    expect(JSON.parse(last('ENTRYPOINT'))).toEqual(['/usr/bin/tini', '--', 'palisade']);
    expect(JSON.parse(last('CMD'))[0]).toBe('serve');
    expect(last('HEALTHCHECK')).toContain('CMD ["node", "/usr/share/palisade/healthcheck.mjs"]');
  });
});

/** What every way of starting it has: with docker, podman and Kubernetes, and in the file for compose. */
const FLAGS = [
  ['--read-only', 'read_only: true', 'readOnlyRootFilesystem: true'],
  ['--tmpfs /tmp', 'tmpfs: [/tmp]', 'mountPath: /tmp'],
  ['--cap-drop ALL', 'cap_drop: [ALL]', 'drop: [ALL]'],
  ['--security-opt no-new-privileges', '- no-new-privileges:true', 'allowPrivilegeEscalation: false'],
  ['--security-opt seccomp=deploy/container/seccomp.json', '- seccomp=./seccomp.json', 'type: Localhost'],
  ['--security-opt apparmor=unconfined', '- apparmor=unconfined', 'appArmorProfile: { type: Unconfined }'],
  ['--security-opt systempaths=unconfined', '- systempaths=unconfined', 'procMount: Unmasked'],
  ['--publish 127.0.0.1:7433:7433', '"127.0.0.1:7433:7433"', 'containerPort: 7433'],
  ['--volume palisade-state:/var/lib/palisade', 'state:/var/lib/palisade', 'mountPath: /var/lib/palisade'],
  ['--volume palisade-work:/work', 'work:/work', 'mountPath: /work'],
] as const;

describe('the ways to start it', () => {
  const page = read('docs/container.md');
  const section = (name: string) => page.split(/^## /m).find((each) => each.startsWith(`${name}\n`)) ?? '';
  const compose = read('deploy/container/compose.yaml');

  test.each(FLAGS)('%s is in all of them', (docker, inCompose, kubernetes) => {
    expect(section('Docker')).toContain(docker);
    expect(compose).toContain(inCompose);
    expect(section('Kubernetes')).toContain(kubernetes);
  });

  test('podman has its own names for two of them', () => {
    const names: Record<string, string> = {
      '--cap-drop ALL': '--cap-drop all',
      '--security-opt systempaths=unconfined': '--security-opt unmask=ALL',
    };
    const wanted = FLAGS.map(([docker]) => names[docker] ?? docker);
    for (const flag of wanted.filter((each) => !each.includes('apparmor')))
      expect(section('Podman')).toContain(flag);
    expect(section('Podman')).toContain(STARTED.slice(0, 5).join(' '));
  });

  test('none gives the container more than it needs, and all name this version', () => {
    for (const text of [compose, section('Docker'), section('Podman'), section('Kubernetes')])
      expect(text).not.toMatch(
        /^[^#]*(--privileged|privileged: true|--cap-add|cap_add|seccomp[=:]unconfined|--device)/m,
      );
    for (const [, tag] of `${page}${compose}`.matchAll(/palisade:(\d[\w.-]*)/g)) expect(tag).toBe(version);
    // What the project does not have yet is not configured.
    expect(compose.match(/^ {2}\w+:$/gm)).toEqual(['  gateway:', '  state:', '  work:']);
  });
});

describe('the filter of system calls', () => {
  type Group = { names: string[]; action: string; comment: string; args: unknown[]; includes: object };
  const text = read('deploy/container/seccomp.json');
  const { syscalls, ...rest } = JSON.parse(text) as { defaultAction: string; syscalls: Group[] };
  const isOurs = ({ comment }: Group) => comment.startsWith(MARK);
  const theirs = syscalls.filter((group) => !isOurs(group));

  test('refuses what it does not name, and is a profile with our groups at its end', () => {
    expect(rest.defaultAction).toBe('SCMP_ACT_ERRNO');
    expect(theirs.length).toBeGreaterThan(20);
    expect(profileText({ ...rest, syscalls: theirs })).toBe(text);
    const ours = syscalls.filter(isOurs);
    expect(ours.map(({ names, comment }) => [names, comment])).toEqual(
      ADDED.map(({ names, why }) => [names, `${MARK}${why}`]),
    );
  });

  test('adds only what the profile permits to no one without a capability', () => {
    const permitted = theirs
      .filter(({ action, includes, args }) => {
        const isForAll = Object.keys(includes).length === 0 && (args ?? []).length === 0;
        return action === 'SCMP_ACT_ALLOW' && isForAll;
      })
      .flatMap(({ names }) => names);
    expect(permitted).toContain('read');
    for (const name of ADDED.flatMap(({ names }) => names)) expect(permitted).not.toContain(name);
    // With these a process reaches into others, or loads code into the kernel.
    const all = syscalls
      .filter(({ includes }) => Object.keys(includes).length === 0)
      .flatMap(({ names }) => names);
    for (const name of [
      'ptrace',
      'bpf',
      'keyctl',
      'init_module',
      'kexec_load',
      'setns',
      'reboot',
      'open_by_handle_at',
    ])
      expect(all).not.toContain(name);
  });
});
