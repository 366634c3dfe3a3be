import { beforeAll, describe, expect, test } from 'vitest';
import { runCases, type CaseResult } from '../../packages/gateway/src/invoke/skills/run-cases.ts';
import { openPackage } from '../../packages/gateway/src/skills/package/open-package.ts';
import { packSkill } from '../../packages/gateway/src/skills/package/pack.ts';
import { auditPackage } from '../../packages/gateway/src/skills/audit/audit.ts';
import { auditBench } from '../../packages/gateway/src/invoke/skills/audit-bench.ts';
import { standingModules } from '../fixtures/modules/index.ts';
import { EXAMPLE_SKILLS, exampleSkill } from '../fixtures/skills/example-skills.ts';

const { opened } = standingModules(() => ({ tools: [], config: '[limits]\nfuel = 100000000\n' }));
describe.each(EXAMPLE_SKILLS)('%s', (name) => {
  test('passes', async () => {
    const t0 = performance.now();
    const skill = await exampleSkill(name);
    const t1 = performance.now();
    const pkg = openPackage(packSkill(skill.files, { palisade: '0.1.0' }));
    const findings = auditPackage(pkg, { ...(await auditBench(opened().gateway, pkg)), trust: { ok: true, how: 'operator' } });
    const t2 = performance.now();
    const results: CaseResult[] = [];
    const times: number[] = []; let last = performance.now();
    await runCases(opened().gateway, { onCase: (r) => { results.push(r); times.push(Math.round(performance.now() - last)); last = performance.now(); }, pkg, by: { kind: 'user', name: 'tester' }, tenant: 'default', withCapabilities: true, signal: new AbortController().signal }).catch((e) => console.log(String(e)));
    console.log(name, Math.round(t1 - t0), 'ms build', Math.round(t2 - t1), 'ms audit', Math.round(performance.now() - t2), 'ms cases', results.length, 'max fuel', Math.max(...results.map((r) => r.fuel)), [...skill.files].filter(([p]) => p.endsWith('.wasm')).map(([p, b]) => `${p} ${b.length}`));
    console.log(times.join(' '));
    console.log(findings.map((f) => `${f.severity} ${f.id} ${f.where}: ${f.sentence}`).join('\n'));
    for (const r of results.filter((r: CaseResult) => r.verdict !== 'passed')) console.log(r.verdict, r.case.file, r.case.name, r.why);
  });
});
