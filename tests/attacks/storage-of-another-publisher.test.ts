import { expect, test } from 'vitest';
import { ask, callerOf } from '../../packages/gateway/test/operations/ask.ts';
import { guest, listOf } from '../fixtures/modules/guest.ts';
import {
  ACME,
  KEEPER,
  KEEPS,
  MALLORY,
  publicDocument,
  type SampleTool,
  samplePackage,
} from '../fixtures/skills/sample.ts';
import { OLGA, openSkillGateway } from '../fixtures/skills/skill-gateway.ts';

/* A skill was removed and has left what it stored; another publisher brings one that would read it. */

/** Reads the note of KEEPER: the length of its entry, or the error. */
const READER: SampleTool = {
  bytes: guest(({ bytes }) => listOf(`(call $storage_get (i32.const 30000) ${bytes('notes/a')})`)),
  risk: 'medium',
};
const ENTRY_BYTES = 8 + '"kept"'.length;
const MISSING = -2;

async function withLeftNote() {
  const skillGateway = await openSkillGateway();
  await skillGateway.adopt({ tools: { keep: KEEPER }, capabilities: KEEPS });
  expect((await skillGateway.call('acme.sample.keep')).output).toEqual([0]);
  await skillGateway.change('disable', 'acme.sample');
  const { body } = await ask(skillGateway.gateway as never, 'removeSkill', {
    as: callerOf(OLGA),
    params: { id: 'acme.sample' },
  });
  expect(body.left).toEqual({ storage: [{ tenant: 'default', keys: 1, bytes: 13 }], secrets: [] });
  await skillGateway.trust('mallory', publicDocument(MALLORY));
  return skillGateway;
}

test('a skill of another publisher cannot have the id of the removed one', async () => {
  const { install } = await withLeftNote();
  const wishes = { version: '2.0.0', tools: { read: READER }, capabilities: KEEPS };
  // One reader of manifests refuses it, for those who pack and for those who install.
  const bring = async () =>
    install(samplePackage({ ...wishes, id: 'acme.sample', publisher: 'mallory' }, MALLORY));
  await expect(bring()).rejects.toMatchObject({ code: 'skill/invalid-manifest' });
  await expect(install(samplePackage(wishes, MALLORY))).rejects.toMatchObject({ code: 'skill/untrusted' });
});

test.each(['mallory.sample', 'mallory.acme.sample'])('a skill %s reads nothing of it', async (id) => {
  const { install, approve, call } = await withLeftNote();
  const wishes = { id, publisher: 'mallory', tools: { read: READER }, capabilities: KEEPS };
  await install(samplePackage(wishes, MALLORY));
  await approve(id, { acceptFindings: true });
  expect((await call(`${id}.read`)).output).toEqual([MISSING]);
});

test('the next version of the same publisher reads it', async () => {
  const { install, approve, call } = await withLeftNote();
  await install(samplePackage({ version: '1.1.0', tools: { read: READER }, capabilities: KEEPS }, ACME));
  await approve('acme.sample', { acceptFindings: true });
  expect((await call('acme.sample.read')).output).toEqual([ENTRY_BYTES]);
});
