import { describe, expect, it } from 'vitest';
import { COMMAND_SWITCHES, hintsFor, SERVER_SWITCHES } from '../../../src/tiers/process/hints.ts';

const TERMS = { workspace: '/srv/work', readOnly: ['/opt/tools'] };
const hints = (stderr: string) =>
  hintsFor(TERMS, { decisions: [], stderr, hasFailed: true }, SERVER_SWITCHES);

describe('hintsFor', () => {
  it.each([
    ['curl: (6) Could not resolve host: api.example.com', 'api.example.com'],
    ['Error: getaddrinfo EAI_AGAIN api.example.com', 'api.example.com'],
    ["NameResolutionError: Failed to resolve 'api.example.com' ([Errno -3])", 'api.example.com'],
    ['dial tcp: lookup api.example.com on 10.0.0.2:53: no such host', 'api.example.com'],
  ])('names the host in %s', (stderr, host) => {
    expect(hints(stderr)).toEqual([
      `${host} is not an allowed host. Allow it with --allow-host ${host}, or with allow_hosts of the server in palisade.toml.`,
    ]);
  });

  it.each([
    ['Error: connect ECONNREFUSED 127.0.0.1:6379', '127.0.0.1:6379'],
    ['Error: connect ECONNREFUSED ::1:5432', '[::1]:5432'],
  ])('names the flag for the address in %s, to servers alone', (stderr, address) => {
    expect(hints(stderr)).toEqual([
      expect.stringContaining(`Allow a service of this machine with --allow-host ${address}, `),
    ]);
    expect(hintsFor(TERMS, { decisions: [], stderr, hasFailed: true }, COMMAND_SWITCHES)).toEqual([]);
  });

  it('names what the proxy denied because no entry allows it, once, with its port', () => {
    const denied = { verdict: 'deny', rule: null, host: 'a.example', port: 8443 };
    const decisions = [denied, denied, { ...denied, rule: '!b.example', host: 'b.example' }];
    const told = hintsFor(TERMS, { decisions, stderr: '', hasFailed: true }, COMMAND_SWITCHES);
    expect(told).toEqual([expect.stringContaining('--allow-host a.example:8443 ')]);
  });

  it.each([
    ["Error: ENOENT: no such file or directory, open '/opt/data/a.json'", '/opt/data/a.json'],
    ['cat: /home/ada/notes: No such file or directory', '/home/ada/notes'],
    ["Error: Cannot find module '/opt/server/index.js'", '/opt/server/index.js'],
  ])('names the path in %s', (stderr, path) => {
    expect(hints(stderr)).toEqual([
      `${path} is outside the sandbox. Allow it with --read-only ${path}, or with read_only of the server in palisade.toml.`,
    ]);
  });

  it.each([
    ['a path in the workspace', 'cat: /srv/work/a: No such file or directory'],
    ['a path that it may read', 'cat: /opt/tools/a: No such file or directory'],
    ['a path of the system', 'cat: /usr/share/a: No such file or directory'],
    ['a relative path', 'cat: a/b: No such file or directory'],
    ['an address', 'ENOENT while reading https://example.com/a'],
    ['a line that is not an error', 'wrote /opt/data/a.json'],
  ])('says nothing of %s', (_, stderr) => {
    expect(hints(stderr)).toEqual([]);
  });

  it.each([
    ['bash: line 1: cargo: command not found', 'cargo'],
    ['sh: 1: pnpm: not found', 'pnpm'],
  ])('names the switch for tools of the home after %s, to commands alone', (stderr, name) => {
    const told = hintsFor(TERMS, { decisions: [], stderr, hasFailed: true }, COMMAND_SWITCHES);
    expect(told).toEqual([expect.stringContaining(`${name} is not in the sandbox. If it is installed`)]);
    expect(hints(stderr)).toEqual([]);
  });

  it.each(['/root/.ssh/id_rsa', '/home/ada/.aws/credentials'])('proposes no way to %s', (path) => {
    const [told = ''] = hints(`cat: ${path}: No such file or directory`);
    expect(told).toContain(`${path} is outside the sandbox`);
    expect(told).not.toContain('--read-only');
  });

  it('tells a command that succeeded of hosts that it missed, and of nothing else', () => {
    const stderr = 'curl: (6) Could not resolve host: a.example\ncat: /opt/x: No such file or directory';
    const told = hintsFor(TERMS, { decisions: [], stderr, hasFailed: false }, COMMAND_SWITCHES);
    expect(told).toEqual([expect.stringContaining('--allow-host a.example ')]);
  });

  it('is short, whatever a command prints', () => {
    const paths = Array.from({ length: 10_000 }, (_, i) => `cat: /x/${i}: No such file or directory`);
    expect(hints(paths.join('\n'))).toHaveLength(5);
  });
});
