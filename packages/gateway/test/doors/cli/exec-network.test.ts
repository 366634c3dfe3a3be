import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readEnvironment } from '../../../src/config/environment.ts';
import { readHead } from '../../../src/journal/head.ts';
import { openGateway, systemClock, systemRandom } from '../../../src/open.ts';
import { runInside } from './fake-edge.ts';

/* What the words of a command line say about the network, on a real gateway. Nothing is run here. */

const POLICIES = `@id("all")
permit (principal, action, resource);

@id("ada-uses-no-secrets")
forbid (principal == Agent::"ada", action == Action::"call", resource)
when { context has process && !context.process.secrets.isEmpty() };

@id("ada-reaches-one-host")
forbid (principal == Agent::"ada", action == Action::"call", resource)
when { context has process }
unless { ["a.example.com"].containsAll(context.process.egressHosts) };
`;

// Not below /tmp: a jail has its own.
const base = mkdtempSync('/var/tmp/palisade-exec-network-');
// The user of commands, another one where the tests are root, walks through it.
chmodSync(base, 0o711);
const [stateDir, workspace, token] = [join(base, 'state'), join(base, 'work'), join(base, 'token')];
const CONFIG = `[process]
egress = "none"
egress_hosts = ["*.example.com", "!bad.example.com"]

[[secret]]
name = "github"
variable = "GITHUB_TOKEN"
hosts = ["a.example.com"]
file = "${token}"
`;
const VALUE = 'ghp_the-value-itself';
let gateway: Awaited<ReturnType<typeof openGateway>>;

beforeAll(async () => {
  mkdirSync(workspace);
  mkdirSync(join(stateDir, 'policies'), { recursive: true, mode: 0o700 });
  writeFileSync(join(stateDir, 'policies/all.cedar'), POLICIES);
  writeFileSync(join(stateDir, 'palisade.toml'), CONFIG, { mode: 0o600 });
  writeFileSync(token, VALUE, { mode: 0o600 });
  gateway = await openGateway({ stateDir, env: readEnvironment(), version: '0.0.0', workspaces: [base] });
});

afterAll(async () => {
  await gateway.close();
  rmSync(base, { recursive: true, force: true });
});

/** Runs a command line against that gateway. */
function palisade(...argv: string[]) {
  return runInside(argv, {
    cwd: workspace,
    clock: systemClock,
    random: systemRandom,
    // What the command opens it would close; this one is closed after the tests.
    openGateway: async () => ({ ...gateway, close: async () => undefined }),
  });
}

const planOf = (...flags: string[]) =>
  palisade('exec', '--dry-run', '--workspace', workspace, ...flags, '--', 'true');

describe('palisade exec --dry-run', () => {
  test('shows what a command would reach and the secrets that it would use, and never a value', async () => {
    const { status, out, err } = await planOf(
      ...[
        '--allow-host',
        'a.example.com',
        '--allow-host',
        'GET https://b.example.com/v1/',
        '--secret',
        'github',
      ],
    );
    expect(err).toBe('');
    expect(out).toContain("hosts       a.example.com 'GET https://b.example.com/v1/'\n");
    expect(out).toContain('secrets     github\n');
    expect(out).not.toContain(VALUE);
    expect(status).toBe(0);
  });

  test("shows the operator's list of a command that names nothing", async () => {
    const { out } = await planOf();
    expect(out).toContain("hosts       '!bad.example.com' '*.example.com'\n");
    expect(out).toContain('secrets     none\n');
    expect((await planOf('--egress', 'none')).out).toContain('hosts       none\n');
  });

  test('has both in its document', async () => {
    const { out } = await planOf('--allow-host', 'a.example.com', '--secret', 'github', '--json');
    expect(JSON.parse(out)).toMatchObject({
      egress: 'strict',
      egressHosts: ['a.example.com'],
      secrets: ['github'],
    });
    expect(out).not.toContain(VALUE);
  });

  test('is judged by policies that ask for the entries and the secrets', async () => {
    const asAda = (...flags: string[]) => planOf('--as', 'agent:ada', ...flags, '--json');
    const one = ['--allow-host', 'a.example.com'];
    expect((await asAda(...one)).status).toBe(0);
    const wider = await asAda();
    expect(JSON.parse(wider.out).policy.decidedBy).toMatchObject([{ id: 'ada-reaches-one-host' }]);
    const withSecret = await asAda(...one, '--secret', 'github');
    expect(JSON.parse(withSecret.out).policy.decidedBy).toMatchObject([{ id: 'ada-uses-no-secrets' }]);
    expect([wider.status, withSecret.status]).toEqual([2, 2]);
  });

  test.each([
    ['an entry that means every host', ['--allow-host', '*'], 'registry/invalid-input', 'egress_hosts[0]'],
    ['an entry that denies', ['--allow-host', '!a.example.com'], 'registry/invalid-input', 'without "!"'],
    ['an empty entry', ['--allow-host', ''], 'registry/invalid-input', '/egress_hosts/0'],
    [
      'the 65th entry',
      Array.from({ length: 65 }, (_, i) => ['--allow-host', `h${i}.example.com`]).flat(),
      'registry/invalid-input',
      '/egress_hosts',
    ],
    [
      'a secret that is not known',
      ['--secret', 'gitlab'],
      'runner/egress-denied',
      'the secret "gitlab" does not exist',
    ],
    [
      'entries that nothing would hold',
      ['--allow-host', 'a.example.com', '--egress', 'none'],
      'registry/invalid-input',
      'Leave out egress_hosts',
    ],
    [
      'a secret that nothing would hold',
      ['--secret', 'github', '--egress', 'preflight'],
      'registry/invalid-input',
      'Leave out secrets',
    ],
  ])('refuses %s', async (_, flags, code, why) => {
    const { status, out, err } = await planOf(...flags);
    expect(err).toContain(`refused  ${code}`);
    expect(err).toContain(why);
    expect({ status, out }).toEqual({ status: 2, out: '' });
  });

  test('records nothing of it', async () => {
    const before = readHead(gateway.store).seq;
    await planOf('--secret', 'github');
    expect(readHead(gateway.store).seq).toBe(before);
  });
});

describe('palisade exec', () => {
  test.each([
    ['--allow-host', 'a.example.com'],
    ['--secret', 'github'],
  ])('refuses %s without its value, and after -- leaves it to the command', async (flag, value) => {
    const { status, err } = await palisade('exec', flag, '--', 'true');
    expect(err).toContain(flag);
    expect(status).toBe(64);
    const { out } = await palisade(
      'exec',
      '--dry-run',
      '--json',
      '--workspace',
      workspace,
      '--',
      'true',
      flag,
      value,
    );
    expect(JSON.parse(out)).toMatchObject({ argv: ['true', flag, value], secrets: [] });
  });
});

describe('palisade policy test', () => {
  test('puts commands to the policies with what they would reach, and goes on after one that is refused', async () => {
    const file = join(base, 'cases.toml');
    const input = (rest: string) => `input = { command = "true", workspace = "${workspace}", ${rest} }`;
    const about = '[[case]]\nprincipal = "agent:ada"\ntool = "palisade.process.run"\n';
    writeFileSync(
      file,
      [
        `${about}expected = "allow"\n${input('egress_hosts = ["a.example.com"]')}`,
        `${about}expected = "deny"\n${input('egress_hosts = ["b.example.com"]')}`,
        `${about}expected = "deny"\n${input('egress_hosts = ["a.example.com"], secrets = ["github"]')}`,
        `${about}expected = "deny"\n${input('egress_hosts = [], secrets = ["github"]')}`,
        `${about}expected = "deny"\n${input('egress_hosts = ["!a.example.com"]')}`,
        `${about}expected = "allow"\n${input('egress_hosts = []')}`,
      ].join('\n'),
    );
    const { out, status } = await palisade('policy', 'test', file, '--json');
    const { cases } = JSON.parse(out) as { cases: { actual: string; message: string }[] };
    expect(cases.map(({ actual }) => actual)).toEqual(['allow', 'deny', 'deny', 'error', 'error', 'allow']);
    expect(cases[3]?.message).toContain('it asks for secrets and can reach no host');
    expect(cases[4]?.message).toContain('egress_hosts[0] is a denial');
    expect(status).toBe(1);
  });
});
