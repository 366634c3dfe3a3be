import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { readResult } from '../../packages/gateway/src/results/results.ts';
import {
  callTool,
  makeTool,
  openTestGateway,
  PERMIT_ALL,
} from '../../packages/gateway/test/fixture/gateway.ts';

/* A tool has got hold of a secret of the machine and says it in every place that is kept of a call. */

const SECRET = 'hunter2-hunter2-hunter2';

describe('what is kept of a call', () => {
  test.each([
    ['its output', async () => ({ printed: SECRET, [SECRET]: 1 })],
    [
      'its failure',
      async () => {
        throw new Error(`Cannot log in with ${SECRET}`);
      },
    ],
  ])('has no secret of the machine, though the tool says it in %s', async (_, run) => {
    const env = { GITHUB_TOKEN: SECRET };
    const gateway = await openTestGateway({ policies: PERMIT_ALL, tools: [makeTool('test.leak', run)], env });
    const { callId, outcome } = await callTool(gateway, 'test.leak');
    // The control: it was said.
    expect(JSON.stringify(outcome)).toContain(SECRET);
    const kept = JSON.stringify(readResult(gateway.store, callId));
    expect(kept).toContain('[redacted:GITHUB_TOKEN]');
    expect(kept).not.toContain(SECRET);
    await gateway.close();
    for (const name of ['palisade.db', 'palisade.db-wal']) {
      const bytes = bytesOf(join(gateway.stateDir, name));
      expect([name, bytes.includes(SECRET)]).toEqual([name, false]);
    }
  });
});

function bytesOf(path: string): Buffer {
  try {
    return readFileSync(path);
  } catch {
    // The log of the database is gone where all of it was carried over.
    return Buffer.alloc(0);
  }
}
