import { beforeAll, describe, expect, test } from 'vitest';
import { parseCases } from '../../packages/gateway/src/skills/audit/cases.ts';
import { openPackage } from '../../packages/gateway/src/skills/package/open-package.ts';
import { packSkill, signPackage } from '../../packages/gateway/src/skills/package/pack.ts';
import { palisade } from '../fixtures/skills/commands.ts';
import { BUILD_MS, DRAWN_SKILLS, exampleSkill } from '../fixtures/skills/example-skills.ts';
import { MALLORY as AUTHOR, publicDocument } from '../fixtures/skills/sample.ts';
import { sharedSkillGateway } from '../fixtures/skills/skill-gateway.ts';
import { warmUp } from '../fixtures/skills/warm-up.ts';

/* Every example of the folder `skills`, from its source to a call that an agent makes: packed, signed, installed, approved. */

const IN_DEMO = 'hash';
beforeAll(async () => void (await Promise.all([...DRAWN_SKILLS, IN_DEMO].map(exampleSkill))), BUILD_MS);
const skillGateway = sharedSkillGateway({ config: '[limits]\nfuel = 50000000\n', version: '0.1.0' });
let trusted: Promise<unknown> | null = null;

async function installed(name: string) {
  trusted ??= skillGateway().trust('examples', publicDocument(AUTHOR));
  await trusted;
  const { files, manifest } = await exampleSkill(name);
  const bytes = packSkill(files, { palisade: '0.1.0' });
  await warmUp(skillGateway().gateway, openPackage(bytes));
  const { skill } = await skillGateway().install(signPackage(bytes, AUTHOR));
  return { skill, files, manifest };
}

test('the demo takes one of them from its folder to a call', async () => {
  const { folder } = await exampleSkill(IN_DEMO);
  const { status, out } = await palisade(['demo', '--skill', folder]);
  expect(out).toContain('examples.hash@1.0.0 waits for an approval');
  expect(out).toContain('{"bytes":9,"crc32":"cbf43926"}');
  expect(status).toBe(0);
});

describe.each(DRAWN_SKILLS)('the example skill %s', (name) => {
  test(
    'passes its audit with all cases, waits, is approved, and answers as its cases say',
    async () => {
      const { skill, files, manifest } = await installed(name);
      const parsed = parseCases(files, manifest);
      const cases = parsed.ok ? parsed.value : [];
      const [wrong] = skill.report?.findings.filter(({ severity }) => severity !== 'note') ?? [];
      expect(wrong).toBeUndefined();
      expect(skill).toMatchObject({
        state: 'quarantined',
        report: { verdict: 'passed', cases: { failed: 0 } },
      });
      const tool = `${manifest.id}.${cases[0]?.tool}`;
      expect((await skillGateway().call(tool)).code).toBe('skill/quarantined');
      await skillGateway().approve(manifest.id);
      for (const tried of cases.filter(({ needs }) => needs.length === 0).slice(0, 4)) {
        const ended = await skillGateway().call(`${manifest.id}.${tried.tool}`, JSON.parse(tried.inputText));
        const { expect: wanted } = tried;
        expect(ended).toMatchObject('output' in wanted ? { code: 'ok', ...wanted } : { code: wanted.code });
      }
    },
    BUILD_MS,
  );
});
