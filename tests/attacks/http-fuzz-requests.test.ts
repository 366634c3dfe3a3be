/** An attacker with a good token sends what the document allows, and then everything that it does not. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type FuzzDaemon, sharedDaemon } from '../fixtures/http-fuzz/daemon.ts';
import { makeKeeper } from '../fixtures/http-fuzz/promises.ts';
import {
  allowed,
  broken,
  type Draft,
  operationsOf,
  type Placed,
  RAW_BODIES,
} from '../fixtures/http-fuzz/requests.ts';
import type { Answer } from '../fixtures/http-fuzz/send.ts';
import { volume } from '../volume/volume.ts';

const daemon = sharedDaemon();
/** Some rounds of them, until the operation was done once: the control needs that. What is refused needs it not. */
const ALLOWED_RUNS = volume(32, 5);
const ALLOWED_ROUNDS = 6;
const BROKEN_RUNS = volume(32, 3);
/** One tries every tier, the others check policies, which takes long. */
const FEW_RUNS: Readonly<Record<string, number>> = {
  getDoctor: volume(2),
  replacePolicies: volume(32, 2),
  checkPolicies: volume(32, 2),
  testPolicies: volume(32, 2),
};

/** This daemon runs no command that changes files. */
const NOTHING_TO_UNDO: readonly string[] = ['planUndo', 'undoCall'];

/** Asks, holds the answer to the promises, and gives it. */
function asking(standing: FuzzDaemon) {
  const keep = makeKeeper(standing.document);
  return async (placed: Placed, draft: Draft): Promise<Answer> => {
    const answer = await standing.send({ ...draft, token: standing.tokens.all });
    keep(placed, draft, answer);
    return answer;
  };
}

/** Every operation gets its turns, and more rounds of them while none was done. */
async function fuzz(
  make: typeof allowed,
  numRuns: number,
  rounds = 1,
): Promise<ReadonlyMap<string, readonly number[]>> {
  const standing = daemon();
  const ask = asking(standing);
  const statuses = new Map<string, number[]>();
  for (const each of operationsOf(standing.document)) {
    const seen: number[] = [];
    const { operationId } = each.operation;
    for (let round = 0; round < rounds && !seen.some((status) => status < 300); round += 1) {
      await fc.assert(
        fc.asyncProperty(make(each, standing), async (draft) => {
          seen.push((await ask(each, draft)).status);
        }),
        { numRuns: FEW_RUNS[operationId] ?? numRuns },
      );
    }
    statuses.set(operationId, seen);
  }
  return statuses;
}

describe('an HTTP door that is sent whatever its document allows', () => {
  it('keeps every promise of the document', async () => {
    const statuses = await fuzz(allowed, ALLOWED_RUNS, ALLOWED_ROUNDS);
    for (const [name, seen] of statuses) expect(seen.length, name).toBeGreaterThan(0);
    // The control: most operations were really done, and not only refused.
    const possible = [...statuses].filter(([name]) => !NOTHING_TO_UNDO.includes(name));
    const refused = possible.filter(([, seen]) => !seen.some((status) => status < 300));
    expect(refused.length, refused.map(([name]) => name).join()).toBeLessThan(possible.length * 0.15);
    expect(daemon().faults).toEqual([]);
  });
});

describe('an HTTP door that is sent what its document does not allow', () => {
  it('refuses it with a problem of the table, and breaks nowhere', async () => {
    const statuses = await fuzz(broken, BROKEN_RUNS);
    const all = [...statuses.values()].flat();
    expect(all.filter((status) => status >= 400).length).toBeGreaterThan(all.length * 0.5);
    expect(daemon().faults).toEqual([]);
    expect((await daemon().send({ method: 'GET', path: '/healthz' })).status).toBe(200);
  });

  it('takes no body that is not exactly one JSON document of the right shape', async () => {
    const standing = daemon();
    const ask = asking(standing);
    const json = operationsOf(standing.document).filter(
      ({ operation }) => operation.requestBody?.content['application/json'] !== undefined,
    );
    for (const placed of json) {
      const path = placed.path.replace(/\{\w+\}/g, 'acme.text');
      for (const raw of RAW_BODIES) {
        const headers = { 'content-type': 'application/json' };
        const body = Buffer.from(raw, 'latin1');
        const { status } = await ask(placed, { method: placed.method, path, headers, body });
        expect(status, `${placed.path} ${raw.slice(0, 40)}`).toBe(400);
      }
    }
    expect(({} as Record<string, unknown>).polluted).toBeUndefined();
  });

  it('takes no other method and no address that is spelt otherwise', async () => {
    const standing = daemon();
    const ask = asking(standing);
    for (const placed of operationsOf(standing.document)) {
      const path = placed.path.replace(/\{\w+\}/g, 'acme.text');
      const at = (method: string, spelt: string) => ask(placed, { method, path: spelt });
      expect((await at('PATCH', path)).status, path).toBe(405);
      for (const spelt of [`/${path}`, `${path}/`, `/x/..${path}`, path.replace('/v1', '/V1').concat('%00')])
        expect((await at(placed.method, spelt)).status, spelt).toBe(404);
    }
  });
});
