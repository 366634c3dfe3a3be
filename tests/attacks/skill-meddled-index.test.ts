import { describe, expect, test } from 'vitest';
import { skillAt, versionsOf } from '../../packages/gateway/src/skills/index/read.ts';
import type { SkillState } from '../../packages/gateway/src/skills/lifecycle.table.ts';
import { query } from '../../packages/gateway/src/skills/tables.ts';
import { OLGA, standingHouse } from '../fixtures/skills/house.ts';
import { KEEPER, KEEPS, samplePackage } from '../fixtures/skills/sample.ts';

/* Somebody with the file of the database, or half a backup of it, changes single columns of the index. */

const house = standingHouse();
let made = 0;

const TWO_REVIEWERS = '[trust]\nreviewers = 2\n';
const keeps = { tools: { keep: KEEPER }, capabilities: KEEPS };

const setState = query<{ id: string; state: SkillState }>()((db, p) =>
  db
    .updateTable('skill_version')
    .set({ state: p('state') })
    .where('id', '=', p('id')),
);
const setGrant = query<{ id: string; granted: string }>()((db, p) =>
  db
    .updateTable('skill_version')
    .set({ granted: p('granted') })
    .where('id', '=', p('id')),
);

function newId(): string {
  made += 1;
  return `acme.meddled-${made}`;
}

function turnOn(id: string): void {
  house().gateway.store.transact((tx) => tx.run(setState, { id, state: 'active' }));
}

/** A skill that runs, whose grant then covers all storage. */
async function widened(): Promise<string> {
  const { id, grant } = await house().adopt({ id: newId(), ...keeps });
  const granted = JSON.stringify(grant).replaceAll('notes/', '/');
  house().gateway.store.transact((tx) => tx.run(setGrant, { id, granted }));
  return id;
}

const states = (id: string) => versionsOf(house().gateway.store, id).map(({ state }) => state);

describe('a version that is set to active by hand', () => {
  test('does not run with one of two reviewers, and runs once both agreed', async () => {
    const wishes = { id: newId(), more: TWO_REVIEWERS };
    await house().install(samplePackage(wishes));
    expect((await house().approve(wishes.id)).reviewersMissing).toBe(1);
    turnOn(wishes.id);
    expect((await house().call(`${wishes.id}.plain`)).code).toBe('store/corrupt');
    const control = { id: newId(), more: TWO_REVIEWERS };
    await house().install(samplePackage(control));
    await house().approve(control.id);
    await house().approve(control.id, { by: { ...OLGA, name: 'otto' } });
    expect((await house().call(`${control.id}.plain`)).code).toBe('ok');
  });

  test.each(['revoke', 'disable'] as const)('does not run after it was told to %s', async (event) => {
    const { id } = await house().adopt({ id: newId() });
    expect((await house().call(`${id}.plain`)).code).toBe('ok');
    await house().change(event, id);
    turnOn(id);
    expect((await house().call(`${id}.plain`)).code).toBe('store/corrupt');
  });
});

describe('a grant that is widened by hand', () => {
  test('does not run, and is in quarantine from then on', async () => {
    const id = await widened();
    expect((await house().call(`${id}.keep`)).code).toBe('store/corrupt');
    expect(states(id)).toEqual(['quarantined']);
    expect(house().recordsOf('skill-changed').at(-1)).toMatchObject({ skill: id, event: 'quarantine' });
    expect((await house().call(`${id}.keep`)).code).toBe('skill/quarantined');
  });

  test('hides no other tool and breaks no check of the policies', async () => {
    const id = await widened();
    const { id: other } = await house().adopt({ id: newId() });
    const { registry } = house().gateway;
    const ids = registry.page(null, 100).map((tool) => tool.id);
    expect(ids).toContain(`${other}.plain`);
    expect(ids).not.toContain(`${id}.keep`);
    const named = registry.named({ tools: [], skills: [id, other] }).map((tool) => tool.id);
    expect(named).toContain(`${other}.plain`);
  });

  test.each(['quarantine', 'revoke'] as const)('can be told to %s, and never to run again', async (event) => {
    const id = await widened();
    await house().change(event, id);
    expect(states(id)).toEqual([event === 'revoke' ? 'revoked' : 'quarantined']);
    await expect(house().approve(id)).rejects.toMatchObject({ code: 'store/corrupt' });
  });

  test('is gone when it is removed, and comes in again as it was made', async () => {
    const id = await widened();
    await house().change('quarantine', id);
    await house().change('remove', id);
    await house().install(samplePackage({ id, ...keeps }));
    await house().approve(id);
    expect(skillAt(house().gateway.store, id, '1.0.0')?.grant?.wasm.storage).toEqual([
      { read: ['notes/'], write: ['notes/'] },
    ]);
    expect((await house().call(`${id}.keep`)).code).toBe('ok');
  });
});
