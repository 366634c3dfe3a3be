import { describe, expect, it } from 'vitest';
import { tagsOfCommand, tagsOfModule, tagsOfUpstream } from '../../src/core/capability.ts';
import { NO_GRANTS } from '../../src/core/wasm.ts';

const QUIET = { egress: 'strict', egressHosts: [], ports: [], secrets: [] } as const;
const ALWAYS = ['ProcessExec', 'FilesystemWrite'];

describe('tagsOfCommand()', () => {
  it.each([
    ['nothing', {}, []],
    ['hosts', { egressHosts: ['api.example.com'] }, ['Network']],
    ['nothing but denials', { egressHosts: ['!api.example.com'] }, []],
    ['a port that the host reaches', { ports: [{ host: 5173, inside: 5173 }] }, ['Network']],
    ['the network of the machine after a look', { egress: 'preflight' }, ['Network']],
    ['the network of the machine', { egress: 'none' }, ['Network']],
    ['a secret', { secrets: ['github'] }, ['SecretsRead']],
  ] as const)('of a command with %s', (_, terms, more) => {
    expect([...tagsOfCommand({ ...QUIET, ...terms })].sort()).toEqual([...ALWAYS, ...more].sort());
  });
});

describe('tagsOfModule()', () => {
  it.each([
    ['nothing', {}, []],
    ['a host', { http: ['api.example.com'] }, ['Network']],
    ['a host that was withheld', { http: [null] }, []],
    ['a secret to use', { secrets: [{ name: 'a', mayReveal: false, hosts: ['a.test'] }] }, ['SecretsRead']],
    ['a secret to read', { secrets: [{ name: 'a', mayReveal: true, hosts: [] }] }, ['SecretsRead']],
    ['a secret that was withheld', { secrets: [{ name: 'a', mayReveal: false, hosts: [] }] }, []],
    ['keys to read', { storage: [{ read: ['a/'], write: [] }] }, []],
    ['keys to write', { storage: [{ read: [], write: ['a/'] }] }, ['FilesystemWrite']],
    ['a log and a clock', { log: true, clock: true }, []],
  ])('of a module with %s: it never starts a program', (_, grants, tags) => {
    expect(tagsOfModule({ ...NO_GRANTS, ...grants })).toEqual(tags);
  });
});

describe('tagsOfUpstream()', () => {
  it('is that of its process, with the hosts and secrets of its configuration', () => {
    expect(tagsOfUpstream([], [])).toEqual(ALWAYS);
    expect(tagsOfUpstream(['api.example.com'], ['github'])).toEqual([
      'ProcessExec',
      'Network',
      'SecretsRead',
      'FilesystemWrite',
    ]);
  });
});
