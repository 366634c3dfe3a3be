import { chmodSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { SecretRule } from '../../src/config/config.ts';
import { GRAMMARS } from '../../src/config/grammar.ts';
import { sentenceOf } from '../../src/core/result.ts';
import { type AllowList, narrowList, parseAllowList } from '../../src/egress/allowlist.ts';
import { parseHost } from '../../src/egress/authority.ts';
import { decide } from '../../src/egress/decide.ts';
import { environmentOf } from '../../src/runner/environment.ts';
import { grantSecrets } from '../../src/runner/secrets.ts';
import type { RunnerSettings } from '../../src/runner/settings.ts';
import { NO_TOOLS } from '../../src/runner/tool-homes.ts';
import { accept, ask, type Host, makeHost } from './sample.ts';

function listOf(...entries: string[]): AllowList {
  const parsed = parseAllowList(entries);
  if (!parsed.ok) throw new Error(sentenceOf(parsed.problem[0]));
  return parsed.value;
}

function secret(wishes: Partial<SecretRule> = {}): SecretRule {
  const hosts = ['api.github.com'];
  return { name: 'github', variable: 'GITHUB_TOKEN', hosts, file: '/nowhere/token', ...wishes };
}

const OPERATOR = ['*.example.com', '!bad.example.com', 'api.github.com'];

function hostWith(rules: readonly SecretRule[], changes: Partial<RunnerSettings> = {}): Host {
  return makeHost({ egressHosts: listOf(...OPERATOR), secrets: grantSecrets(rules), ...changes });
}

describe('termsOf() and what a strict run may reach', () => {
  it("gives all of the operator's list to a call that names nothing", () => {
    expect(accept(hostWith([]), {}).terms.egressHosts).toEqual([...OPERATOR].sort());
    expect(accept(makeHost(), {}).terms.egressHosts).toEqual([]);
  });

  it("gives a call that names entries those, and nothing of the operator's besides", () => {
    const host = hostWith([]);
    expect(accept(host, { egressHosts: ['a.example.com'] }).terms.egressHosts).toEqual(['a.example.com']);
    expect(accept(host, { egressHosts: [] }).terms.egressHosts).toEqual([]);
  });

  it("narrows: nothing is allowed that the operator's list denies, whatever a call names", () => {
    const host = hostWith([]);
    const operator = host.settings.egressHosts;
    const names = [
      'a.example.com',
      'bad.example.com',
      'api.github.com',
      'evil.example',
      '*.example.com',
      '10.0.0.1',
    ];
    const entry = fc
      .tuple(fc.constantFrom(...names), fc.constantFrom('', ':443', ':22'))
      .map((parts) => parts.join(''));
    let allowed = 0;
    fc.assert(
      fc.property(
        fc.array(entry, { maxLength: 4 }),
        fc.constantFrom(...names),
        fc.constantFrom(22, 80, 443),
        (egressHosts, raw, port) => {
          const parsed = parseHost(raw.replace('*', 'x'));
          if (!parsed.ok) throw new Error(sentenceOf(parsed.problem));
          const { terms } = accept(host, { egressHosts });
          const request = { host: parsed.value, port };
          const verdict = decide(narrowList(listOf(...terms.egressHosts), operator), request).verdict;
          const both = [listOf(...egressHosts), operator].map((list) => decide(list, request).verdict);
          expect(verdict).toBe(both.includes('deny') ? 'deny' : 'allow');
          if (verdict === 'allow') allowed += 1;
        },
      ),
      { numRuns: 500 },
    );
    expect(allowed).toBeGreaterThan(0);
  });

  it("leaves the operator's list as it is, whatever a call names", () => {
    const host = hostWith([]);
    accept(host, { egressHosts: ['evil.example'] });
    expect(host.settings.egressHosts.entries).toEqual([...OPERATOR].sort());
    expect(accept(host, {}).terms.egressHosts).not.toContain('evil.example');
  });

  it('gives neither entries nor secrets to a run that nothing holds', () => {
    const host = hostWith([secret()], { loosestEgress: 'none' });
    for (const egress of ['preflight', 'none'] as const) {
      expect(accept(host, { egress }).terms).toMatchObject({ egressHosts: [], secrets: [] });
      const forced = accept(host, { egress, egressHosts: ['a.example.com'], secrets: ['github'] });
      expect(forced.terms).toMatchObject({ egressHosts: [], secrets: [] });
    }
  });
});

describe('termsOf() and secrets', () => {
  it('gives a call the secrets that it names and no other, and opens no file for it', () => {
    const host = hostWith([secret(), secret({ name: 'npm', variable: 'NPM_TOKEN' })]);
    expect(accept(host, {}).terms.secrets).toEqual([]);
    expect(accept(host, { secrets: ['npm'] }).terms.secrets).toEqual(['npm']);
    expect(accept(host, { secrets: ['npm', 'github'] }).terms.secrets).toEqual(['npm', 'github']);
  });

  it.each(['gitlab', 'GitHub', 'github ', 'GITHUB_TOKEN', '/nowhere/token', '__proto__', 'constructor', ''])(
    'refuses the secret "%s", which nobody grants, and says what to do',
    (name) => {
      expect(ask(hostWith([secret()]), { secrets: ['github', name] })).toMatchObject({
        ok: false,
        code: 'runner/egress-denied',
        message: `Cannot run the command: the secret "${name}" does not exist, expected one that the operator grants`,
        remedy: expect.stringContaining('[[secret]]'),
      });
    },
  );

  it('says no name of a secret to a caller that guesses', () => {
    const refused = ask(hostWith([secret({ name: 'hidden-name' })]), { secrets: ['x'] });
    expect(JSON.stringify(refused)).not.toContain('hidden-name');
  });

  it('shows a hostile name on one line', () => {
    const refused = ask(hostWith([]), { secrets: ['a\n\u001b[2J\u202e'] });
    expect(refused.ok ? '' : refused.message).not.toMatch(/[\p{Cc}\p{Cf}]/u);
  });

  it('refuses two secrets of one variable, and takes each alone', () => {
    const host = hostWith([secret({ name: 'test' }), secret({ name: 'live' })]);
    expect(ask(host, { secrets: ['test', 'live'] })).toMatchObject({
      code: 'runner/environment',
      message:
        'Cannot set "GITHUB_TOKEN": the secrets "test" and "live" are both in it, expected a variable for each',
    });
    for (const name of ['test', 'live'])
      expect(accept(host, { secrets: [name] }).terms.secrets).toEqual([name]);
  });

  it('refuses a variable of the caller in the place of a secret, and takes it without the secret', () => {
    const host = hostWith([secret({ variable: 'CI' })]);
    expect(ask(host, { secrets: ['github'], env: { CI: 'mine' } })).toMatchObject({
      code: 'runner/environment',
      message: expect.stringContaining('the secret "github" is in it and the call sets it, too'),
    });
    expect(accept(host, { env: { CI: 'mine' } }).terms.env.CI).toBe('mine');
    expect(accept(host, { secrets: ['github'] }).terms.env).not.toHaveProperty('CI');
  });
});

describe('the file of a secret', () => {
  const REFUSED = {
    code: 'runner/invalid-workspace',
    message: expect.stringContaining('the command could read the file of the secret "github"'),
  };

  /** A host whose one secret lies at this place of it, and whether a command that asks for nothing may run. */
  function withFileAt(
    place: (host: Host) => string,
    changes: (host: Host) => Partial<RunnerSettings> = () => ({}),
  ) {
    const host = makeHost();
    const secrets = grantSecrets([secret({ file: place(host) })]);
    return ask(host, {}, { ...host.settings, ...changes(host), secrets });
  }

  it('keeps a command out of a workspace that it lies in, also one that does not ask for it', () => {
    expect(withFileAt(({ workspace }) => join(workspace, '.env'))).toMatchObject(REFUSED);
    expect(withFileAt(({ workspace }) => `${workspace}/deep/../../workspace/.env`)).toMatchObject(REFUSED);
    expect(withFileAt(({ outside }) => join(outside, 'token'))).toMatchObject({ ok: true });
    expect(withFileAt(({ root }) => join(root, 'workspace-token'))).toMatchObject({ ok: true });
  });

  it('keeps a command out of a workspace that a link leads into, and out of one that the link is in', () => {
    const into = ({ root, workspace }: Host) => {
      symlinkSync(workspace, join(root, 'alias'));
      return join(root, 'alias/token');
    };
    const from = ({ outside, workspace }: Host) => {
      symlinkSync(outside, join(workspace, 'alias'));
      return join(workspace, 'alias/token');
    };
    expect(withFileAt(into)).toMatchObject(REFUSED);
    expect(withFileAt(from)).toMatchObject(REFUSED);
  });

  it('keeps commands away where it is in a path that they may read', () => {
    const file = ({ outside }: Host) => join(outside, 'token');
    expect(withFileAt(file, ({ outside }) => ({ readOnly: [outside] }))).toMatchObject(REFUSED);
    expect(withFileAt(() => '/usr/local/share/token')).toMatchObject(REFUSED);
    expect(withFileAt(() => '/etc/palisade/token')).toMatchObject({ ok: true });
  });
});

describe('grantSecrets()', () => {
  function isFor(hosts: readonly string[], host: string, port: number): boolean | undefined {
    const parsed = parseHost(host);
    if (!parsed.ok) throw new Error(sentenceOf(parsed.problem));
    return grantSecrets([secret({ hosts })])
      .get('github')
      ?.isFor(parsed.value, port);
  }

  it.each([
    ['its host on the port of TLS', ['api.github.com'], 'api.github.com', 443, true],
    ['its host in another spelling', ['API.GitHub.com.'], 'api.github.com', 443, true],
    ['its host in the clear', ['api.github.com'], 'api.github.com', 80, false],
    ['its host on another port', ['api.github.com'], 'api.github.com', 8443, false],
    ['the port that is named', ['api.github.com:8443'], 'api.github.com', 8443, true],
    ['port 80 where it is named', ['api.github.com:80'], 'api.github.com', 80, true],
    ['the port of TLS where another is named', ['api.github.com:8443'], 'api.github.com', 443, false],
    ['a host above it', ['api.github.com'], 'github.com', 443, false],
    ['a host below it', ['api.github.com'], 'x.api.github.com', 443, false],
    ['a host that ends like it', ['github.com'], 'evilgithub.com', 443, false],
    ['a host below a wildcard', ['*.github.com'], 'a.b.github.com', 443, true],
    ['the host of a wildcard itself', ['*.github.com'], 'github.com', 443, false],
    ['one host of several', ['a.example', 'b.example:1'], 'b.example', 1, true],
    ['the port of another host', ['a.example', 'b.example:1'], 'a.example', 1, false],
    ['its address', ['10.1.2.3'], '10.1.2.3', 443, true],
    ['its address as a number', ['10.1.2.3'], '167838211', 443, true],
    ['an address of its range', ['10.1.2.0/24:8080'], '10.1.2.9', 8080, true],
    ['an address beside its range', ['10.1.2.0/24:8080'], '10.1.3.9', 8080, false],
  ])('says whether a value is for %s', (_, hosts, host, port, expected) => {
    expect(isFor(hosts, host, port)).toBe(expected);
  });

  it.each([
    ['*.com', 'every name of a top-level domain'],
    ['a..example', 'it has an empty label'],
    ['a.example:0', 'it is not a port number'],
    ['a.example:70000', 'it is not a port number'],
    ['010.0.0.1', 'it is not plain'],
    ['0.0.0.0/1', 'its prefix has 1 bits'],
    ['!a.example', 'it says more than a host, expected a host'],
    ['https://a.example', 'it says more than a host, expected a host'],
    ['GET a.example', 'it says more than a host, expected a host'],
  ])('refuses the host %s and says whose it is', (entry, why) => {
    const grant = () => grantSecrets([secret({ name: 'first' }), secret({ hosts: ['a.example', entry] })]);
    expect(grant).toThrow(expect.objectContaining({ code: 'config/invalid' }));
    expect(grant).toThrow(/^secret\[1\]\.hosts: Cannot use /);
    expect(grant).toThrow(why);
  });

  it('has no file to read, and none to keep from commands, where the vault has the value', () => {
    expect(grantSecrets([secret({ file: null })]).get('github')).toMatchObject({ read: null, paths: [] });
  });

  it('reads the value when it is asked for, as the file is then', () => {
    const { outside } = makeHost();
    const file = join(outside, 'token');
    const granted = grantSecrets([secret({ file })]).get('github');
    expect(() => granted?.read?.()).toThrow('it does not exist');
    writeFileSync(file, 'first\n', { mode: 0o600 });
    expect(granted?.read?.()).toBe('first');
    writeFileSync(file, 'second\n');
    expect(granted?.read?.()).toBe('second');
    chmodSync(file, 0o644);
    expect(() => granted?.read?.()).toThrow('its mode is 0644');
    expect(JSON.stringify(granted)).not.toContain('second');
  });
});

it('a variable that palisade sets for every run is none for a secret', () => {
  const base = environmentOf({}, '/home', { searchPath: [], tmpDir: '/tmp', envAllow: [], tools: NO_TOOLS });
  expect(Object.keys(base).length).toBeGreaterThan(3);
  for (const name of Object.keys(base)) expect(GRAMMARS['secret-variable'].accepts(name), name).toBe(false);
  expect(GRAMMARS['secret-variable'].accepts('GITHUB_TOKEN')).toBe(true);
});
