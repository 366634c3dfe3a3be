import { execFile } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { scratch } from '../fixtures/cli.ts';
import { serve } from '../fixtures/serving.ts';

/* The command by which an engine of containers learns whether the gateway accepts calls. */

const CHECK = join(import.meta.dirname, '../../deploy/container/healthcheck.mjs');

function check(state: string): Promise<{ status: number; err: string }> {
  const env = { ...process.env, PALISADE_STATE: state };
  return new Promise((done) => {
    execFile(process.execPath, [CHECK], { env }, (error, _, err) => {
      done({ status: error === null ? 0 : Number(error.code), err });
    });
  });
}

test('the health check passes while calls are accepted, and fails before, without policies and after', async () => {
  const state = join(scratch(), 'state');
  const before = await check(state);
  expect(before).toMatchObject({ status: 1, err: expect.stringContaining('palisade is not ready: ') });
  const { end } = await serve(state, scratch());
  expect(await check(state)).toEqual({ status: 0, err: '' });
  expect(await end('SIGTERM')).toBe(0);
  expect((await check(state)).status).toBe(1);

  const broken = join(scratch(), 'state');
  mkdirSync(join(broken, 'policies'), { recursive: true, mode: 0o700 });
  writeFileSync(join(broken, 'policies/all.cedar'), 'permit(');
  await serve(broken, scratch());
  expect(await check(broken)).toEqual({ status: 1, err: 'palisade is not ready: /readyz answers 503\n' });
});
