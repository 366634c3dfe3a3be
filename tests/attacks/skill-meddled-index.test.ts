import { describe, expect, test } from 'vitest';
import { skillAt, versionsOf } from '../../packages/gateway/src/skills/index/read.ts';
import type { SkillState } from '../../packages/gateway/src/skills/lifecycle.table.ts';
import { query } from '../../packages/gateway/src/skills/tables.ts';
import { KEEPER, KEEPS, samplePackage } from '../fixtures/skills/sample.ts';
import { OLGA, sharedSkillGateway } from '../fixtures/skills/skill-gateway.ts';

/* Somebody with the file of the database, or half a backup of it, changes single columns of the index. */

const skillGateway = sharedSkillGateway();
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
  skillGateway().gateway.store.transact((tx) => tx.run(setState, { id, state: 'active' }));
}

/** A skill that runs, whose grant then covers all storage. */
async function widened(): Promise<string> {
  const { id, grant } = await skillGateway().adopt({ id: newId(), ...keeps });
  const granted = JSON.stringify(grant).replaceAll('notes/', '/');
  skillGateway().gateway.store.transact((tx) => tx.run(setGrant, { id, granted }));
  return id;
}

const states = (id: string) => versionsOf(skillGateway().gateway.store, id).map(({ state }) => state);

describe('a version that is set to active by hand', () => {
  test('does not run with one of two reviewers, and runs once both agreed', async () => {
    const wishes = { id: newId(), more: TWO_REVIEWERS };
    await skillGateway().install(samplePackage(wishes));
    expect((await skillGateway().approve(wishes.id)).reviewersMissing).toBe(1);
    turnOn(wishes.id);
    expect((await skillGateway().call(`${wishes.id}.plain`)).code).toBe('store/corrupt');
    const control = { id: newId(), more: TWO_REVIEWERS };
    await skillGateway().install(samplePackage(control));
    await skillGateway().approve(control.id);
    await skillGateway().approve(control.id, { by: { ...OLGA, name: 'otto' } });
    expect((await skillGateway().call(`${control.id}.plain`)).code).toBe('ok');
  });

  test.each(['revoke', 'disable'] as const)('does not run after it was told to %s', async (event) => {
    const { id } = await skillGateway().adopt({ id: newId() });
    expect((await skillGateway().call(`${id}.plain`)).code).toBe('ok');
    await skillGateway().change(event, id);
    turnOn(id);
    expect((await skillGateway().call(`${id}.plain`)).code).toBe('store/corrupt');
  });
});

describe('a grant that is widened by hand', () => {
  test('does not run, and is in quarantine from then on', async () => {
    const id = await widened();
    expect((await skillGateway().call(`${id}.keep`)).code).toBe('store/corrupt');
    expect(states(id)).toEqual(['quarantined']);
    expect(skillGateway().recordsOf('skill-changed').at(-1)).toMatchObject({
      skill: id,
      event: 'quarantine',
    });
    expect((await skillGateway().call(`${id}.keep`)).code).toBe('skill/quarantined');
  });

  test('hides no other tool and breaks no check of the policies', async () => {
    const id = await widened();
    const { id: other } = await skillGateway().adopt({ id: newId() });
    const { registry } = skillGateway().gateway;
    const ids = registry.page(null, 100).map((tool) => tool.id);
    expect(ids).toContain(`${other}.plain`);
    expect(ids).not.toContain(`${id}.keep`);
    const named = registry.named({ tools: [], skills: [id, other] }).map((tool) => tool.id);
    expect(named).toContain(`${other}.plain`);
  });

  test.each(['quarantine', 'revoke'] as const)('can be told to %s, and never to run again', async (event) => {
    const id = await widened();
    await skillGateway().change(event, id);
    expect(states(id)).toEqual([event === 'revoke' ? 'revoked' : 'quarantined']);
    await expect(skillGateway().approve(id)).rejects.toMatchObject({ code: 'store/corrupt' });
  });

  test('is gone when it is removed, and comes in again as it was made', async () => {
    const id = await widened();
    await skillGateway().change('quarantine', id);
    await skillGateway().change('remove', id);
    await skillGateway().install(samplePackage({ id, ...keeps }));
    await skillGateway().approve(id);
    expect(skillAt(skillGateway().gateway.store, id, '1.0.0')?.grant?.wasm.storage).toEqual([
      { read: ['notes/'], write: ['notes/'] },
    ]);
    expect((await skillGateway().call(`${id}.keep`)).code).toBe('ok');
  });
});
