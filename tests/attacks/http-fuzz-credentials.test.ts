/** An attacker without a credential, with a made-up one, or with one that is good for something else, tries every operation. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ALL_SCOPES } from '../../packages/gateway/src/core/caller.ts';
import { sharedDaemon, stateOf } from '../fixtures/http-fuzz/daemon.ts';
import { allowed, type Draft, operationsOf, type Placed } from '../fixtures/http-fuzz/requests.ts';

const daemon = sharedDaemon();

/** One request that the document allows, for each operation. */
function samples(): readonly { readonly placed: Placed; readonly draft: Draft }[] {
  const standing = daemon();
  return operationsOf(standing.document).map((placed) => {
    const [draft] = fc.sample(allowed(placed, standing), { numRuns: 1, seed: 1 });
    if (draft === undefined) throw new Error(`no request for ${placed.path}`);
    return { placed, draft };
  });
}

const isOpen = ({ operation }: Placed) => operation.security.length === 0;

describe('an HTTP door that is asked without a good credential', () => {
  it('answers 401 for every operation that the document does not say is open, and does nothing', async () => {
    const before = stateOf(daemon().gateway);
    let refused = 0;
    for (const { placed, draft } of samples()) {
      const answer = await daemon().send(draft);
      const observed = `${draft.method} ${draft.path} → ${answer.text.slice(0, 200)}`;
      if (isOpen(placed)) expect(answer.status, observed).toBe(200);
      else {
        refused += 1;
        expect([answer.status, (answer.json as { code: string }).code], observed).toEqual([
          401,
          'door/unauthenticated',
        ]);
        expect(answer.headers['www-authenticate'], observed).toMatch(/^Bearer .*resource_metadata=/);
      }
    }
    expect(refused).toBeGreaterThan(40);
    expect(stateOf(daemon().gateway)).toEqual(before);
  });

  it('answers the same for credentials that are made up', async () => {
    const { tokens } = daemon();
    const good = tokens.all;
    const flipped = `${good.slice(0, -1)}${good.endsWith('A') ? 'B' : 'A'}`;
    const words = [
      ...[
        'Bearer',
        'Bearer ',
        'Basic YTpi',
        `bearer\t${flipped}`,
        `Bearer ${flipped}`,
        `Bearer ${good} ${good}`,
      ],
      ...[`Bearer ${good}x`, `Token ${good}`, `Bearer ${good.slice(0, 20)}`, `Bearer ${good.toUpperCase()}`],
    ];
    const messages = new Set<string>();
    for (const authorization of words) {
      const answer = await daemon().send({ method: 'GET', path: '/v1/whoami', headers: { authorization } });
      expect(answer.status, authorization.slice(0, 20)).toBe(401);
      messages.add((answer.json as { detail: string }).detail);
    }
    expect(messages.size).toBe(1);
    const control = await daemon().send({ method: 'GET', path: '/v1/whoami', token: good });
    expect(control.json).toMatchObject({ principal: 'user:olga' });
  });
});

describe('an HTTP door that is asked with a credential for something else', () => {
  it('answers 403 for every operation whose scope the credential has not, and does nothing', async () => {
    const before = stateOf(daemon().gateway);
    let refused = 0;
    for (const { placed, draft } of samples()) {
      const [scope] = placed.operation.security[0]?.token ?? [];
      if (scope === undefined) continue;
      for (const other of ALL_SCOPES.filter((each) => each !== scope)) {
        const answer = await daemon().send({ ...draft, token: daemon().tokens.only[other] });
        const observed = `${other}: ${draft.method} ${draft.path} → ${answer.text.slice(0, 200)}`;
        expect([answer.status, (answer.json as { code: string }).code], observed).toEqual([
          403,
          'door/insufficient-scope',
        ]);
        refused += 1;
      }
    }
    expect(refused).toBeGreaterThan(100);
    expect(stateOf(daemon().gateway)).toEqual(before);
  });

  it('lets the one scope in that the document names', async () => {
    for (const { placed, draft } of samples()) {
      const [scope] = placed.operation.security[0]?.token ?? [];
      if (scope === undefined || draft.method !== 'GET') continue;
      const answer = await daemon().send({ ...draft, token: daemon().tokens.only[scope] });
      const { code } = (answer.json ?? {}) as { code?: string };
      expect(code, `${draft.method} ${draft.path}`).not.toBe('door/insufficient-scope');
    }
  });
});
