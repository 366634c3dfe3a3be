import { describe, expect, test } from 'vitest';
import { makeAuthenticator } from '../../src/identity/authenticate.ts';
import { openGateway, openRecords, systemRandom } from '../../src/open.ts';
import { runInside } from '../doors/cli/fake-edge.ts';
import { CHECKED } from '../fixture/checked.ts';
import { NOON, openTestGateway, testClock } from '../fixture/gateway.ts';
import { tempDir } from '../fixture/temp-dir.ts';

/** palisade on a state directory of its own, at noon. */
function newState() {
  const [state, clock] = [tempDir(), testClock()];
  const open = { clock, random: systemRandom };
  const token = (...words: string[]) =>
    runInside(['token', ...words, '--state', state], {
      ...open,
      openRecords: (options) => openRecords({ ...options, ...open }),
      openGateway: (options) => openGateway({ checked: CHECKED, ...options, ...open }),
    });
  return { state, clock, token };
}

/** Whom a token is, asked on the state directory that it was made in. */
async function enter(stateDir: string, token: string) {
  const { store, config, clock } = await openTestGateway({ stateDir });
  const answer = await makeAuthenticator({ reader: store, config, clock })({
    authorization: `Bearer ${token.trim()}`,
  });
  return answer.ok ? { ...answer.caller, scopes: [...answer.caller.scopes] } : answer.reason;
}

describe('palisade token', () => {
  test('create prints the token alone on standard output, and it is good', async () => {
    const { state, token } = newState();
    const { status, out, err } = await token('create', '--principal', 'agent:ada');
    expect(status).toBe(0);
    expect(out).toMatch(/^pls_[0-9a-z]{25}_[A-Za-z0-9_-]{43}\n$/);
    expect(err).toMatch(/^created {2}tok_[0-9a-z]{25} for agent:ada \(call\)\n/);
    expect(err).toContain('it is not shown again, and is valid until 2026-05-31T12:00:00.000Z');
    expect(err).not.toContain('pls_');
    expect(await enter(state, out)).toMatchObject({
      ...{ principal: { kind: 'agent', name: 'ada' }, tenant: 'default', scopes: ['call'], approver: null },
    });
  });

  test('create takes all that its flags say', async () => {
    const { state, token } = newState();
    const words = [
      '--principal',
      'service:ci',
      '--scopes',
      'admin,call',
      '--tenant',
      'acme',
      '--expires',
      '12h',
      ...['--device', 'runner-3', '--channel', 'nightly', '--sessions', '4'],
    ];
    const made = await token('create', ...words, '--label', 'of CI', '--json');
    const { token: text, id, ...about } = JSON.parse(made.out);
    expect(about).toEqual({
      ...{ state: 'active', principal: 'service:ci', tenant: 'acme', scopes: ['call', 'admin'] },
      ...{ device: 'runner-3', channel: 'nightly', sessions: 4 },
      ...{ label: 'of CI', createdAt: '2026-05-01T12:00:00.000Z' },
      ...{ createdBy: 'user:ada', expiresAt: '2026-05-02T00:00:00.000Z', revokedAt: null, revokedBy: null },
    });
    expect(await enter(state, text)).toMatchObject({
      tenant: 'acme',
      credential: `token:${id}`,
      device: 'runner-3',
    });
  });

  test.each([
    [[], 'expected --principal agent:NAME'],
    [['--principal', 'ada'], 'Cannot use --principal "ada"'],
    [['--principal', 'agent:ada', '--scopes', 'call,everything'], 'Cannot use the scope "everything"'],
    [['--principal', 'agent:ada', '--scopes', ''], 'Cannot use the scope ""'],
    [['--principal', 'agent:ada', '--scopes', 'admin'], 'agent:ada cannot have admin, expected call, read'],
    [['--principal', 'agent:ada', '--approver', 'user:grace'], '--approver'],
    [['--principal', 'agent:ada', '--sessions', '1'], 'agent:ada cannot begin sessions'],
    [['--principal', 'agent:ada', '--device', 'my laptop'], 'Cannot use --device "my laptop"'],
    [['--principal', 'agent:ada', '--channel', 'mcp'], 'not the name of a door'],
    [['--principal', 'agent:ada', '--expires', '367d'], 'within 366 days'],
    [['--principal', 'agent:ada', '--expires', 'never'], 'Cannot use --expires "never"'],
    [['--principal', 'agent:ada', '--tenant', 'a/b'], 'the tenant is called "a/b"'],
  ])('create %j is wrong usage', async (words, message) => {
    const { token } = newState();
    const { status, out, err } = await token('create', ...words);
    expect([status, out]).toEqual([64, '']);
    expect(err).toContain(message);
    expect((await token('list')).out).toBe('There are no tokens.\n');
  });

  test('create is refused to an agent', async () => {
    const { token } = newState();
    const { status, out, err } = await token('create', '--principal', 'user:eve', '--as', 'agent:ada');
    expect([status, out]).toEqual([2, '']);
    expect(err).toContain('Cannot administer as agent:ada');
  });

  test('list shows whose they are and how they stand, page by page, and never a token', async () => {
    const { clock, token } = newState();
    const make = async (...words: string[]) => JSON.parse((await token('create', ...words, '--json')).out);
    const old = await make('--principal', 'agent:ada', '--expires', '1h', '--label', 'short');
    const gone = await make('--principal', 'user:grace', '--scopes', 'call,approve', '--tenant', 'acme');
    const good = await make('--principal', 'service:ci');
    expect((await token('revoke', gone.id)).err).toBe(`revoked  ${gone.id} of user:grace\n`);
    clock.set(NOON + 3_600_000);
    const first = JSON.parse((await token('list', '--limit', '2', '--json')).out);
    expect(first.tokens.map(({ id, state }: { id: string; state: string }) => [id, state])).toEqual([
      [good.id, 'active'],
      [gone.id, 'revoked'],
    ]);
    const second = JSON.parse((await token('list', '--cursor', first.cursor, '--json')).out);
    expect(second).toMatchObject({
      tokens: [{ id: old.id, state: 'expired', label: 'short' }],
      cursor: null,
    });
    const shown = await token('list');
    for (const word of ['ID', 'LABEL', old.id, 'call,approve', 'acme', 'expired', 'revoked', 'active'])
      expect(shown.out).toContain(word);
    const own = await token('list', '--tenant', 'acme', '--json');
    expect(JSON.parse(own.out).tokens.map(({ id }: { id: string }) => id)).toEqual([gone.id]);
    for (const text of [shown.out, own.out, JSON.stringify([first, second])])
      expect(text).not.toContain('pls_');
  });

  test('revoke ends a token, and says so of an id that there is not', async () => {
    const { state, token } = newState();
    const made = JSON.parse((await token('create', '--principal', 'agent:ada', '--json')).out);
    const revoked = await token('revoke', made.id, '--json');
    expect(JSON.parse(revoked.out)).toMatchObject({ id: made.id, state: 'revoked', revokedBy: 'user:ada' });
    expect(await enter(state, made.token)).toBe('revoked');
    const unknown = await token('revoke', made.token);
    expect(unknown.status).toBe(64);
    expect(unknown.err).toContain('Give the id: tok_');
    expect(unknown.err + unknown.out).not.toContain(made.token.slice(30));
  });
});
