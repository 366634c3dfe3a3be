/** Somebody who only looks, at whatever and however, changes nothing by it. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { sharedDaemon, stateOf } from '../fixtures/http-fuzz/daemon.ts';
import { allowed, broken, operationsOf, type Placed } from '../fixtures/http-fuzz/requests.ts';
import { volume } from '../volume/volume.ts';

const daemon = sharedDaemon();
const RUNS = volume(8, 3);

/** What the identity room keeps, as an operator reads it. */
async function tokens(): Promise<unknown> {
  const { send, tokens: held } = daemon();
  return (await send({ method: 'GET', path: '/v1/tokens?limit=1000', token: held.all })).json;
}

/** One of them tries every tier, which takes half a second; it is looked at by the test of requests. */
function isCheap({ method, path }: Placed): boolean {
  return method === 'GET' && path !== '/v1/doctor';
}

describe('looking over HTTP', () => {
  it('changes neither journal nor policies, skills, keys, secrets or tokens', async () => {
    const standing = daemon();
    const before = { ...stateOf(standing.gateway), tokens: await tokens() };
    let requested = 0;
    for (const placed of operationsOf(standing.document).filter(isCheap)) {
      for (const make of [allowed, broken]) {
        await fc.assert(
          fc.asyncProperty(make(placed, standing), fc.constantFrom('GET', 'HEAD'), async (draft, method) => {
            requested += 1;
            await standing.send({ ...draft, method, token: standing.tokens.all });
          }),
          { numRuns: RUNS },
        );
      }
      const after = { ...stateOf(standing.gateway), tokens: await tokens() };
      expect(after, placed.path).toEqual(before);
    }
    expect(requested).toBeGreaterThan(100);
  });

  it('would be seen to change something by a request that does', async () => {
    const standing = daemon();
    const before = stateOf(standing.gateway);
    const body = Buffer.from(JSON.stringify({ tool: 'palisade.echo', input: {} }));
    const headers = { 'content-type': 'application/json' };
    await standing.send({ method: 'POST', path: '/v1/calls', token: standing.tokens.all, headers, body });
    expect(stateOf(standing.gateway)).not.toEqual(before);
  });
});
