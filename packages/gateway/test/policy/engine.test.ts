import { mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { Tool } from '../../src/core/tool.ts';
import { authorize } from '../../src/policy/authorize.ts';
import { type Cedar, cedarVersion, loadCedar } from '../../src/policy/cedar.ts';
import type { PolicyEngine } from '../../src/policy/engine.ts';
import type { NamedEntities } from '../../src/policy/parse.ts';
import {
  type Bed,
  COUNT,
  checkedCall,
  FACTS,
  makeBed,
  makeTool,
  PERMIT_ALL,
  SLEEP,
  TOOLS,
  WORDS,
} from './sample.ts';

const ACME_TEXT_NAMED: NamedEntities = {
  tools: new Set(['acme.text.words']),
  skills: new Set(['acme.text']),
};
const FORBID_ALL = '@id("none") forbid(principal, action, resource);\n';
const verdictOf = (engine: PolicyEngine) =>
  authorize(engine, checkedCall(COUNT, { text: '' }), FACTS).verdict;

/** Lets what was queued for the store be written. */
const written = (bed: Bed) => bed.store.commit(() => undefined);

/** An evaluator that counts how often it validated. */
function counting(): { load: () => Cedar; validations: () => number } {
  let count = 0;
  const load = (): Cedar => {
    const cedar = loadCedar();
    const validate: Cedar['validate'] = (call) => {
      count += 1;
      return cedar.validate(call);
    };
    return { ...cedar, validate };
  };
  return { load, validations: () => count };
}

describe('a PolicyEngine', () => {
  test('seeds a new directory for its owner alone and permits a low-risk call', () => {
    const bed = makeBed(null);
    const engine = bed.open();
    expect(engine.problems).toEqual([]);
    expect(verdictOf(engine)).toBe('allow');
    expect(statSync(bed.directory).mode & 0o777).toBe(0o700);
    for (const name of readdirSync(bed.directory)) {
      expect(statSync(join(bed.directory, name)).mode & 0o777).toBe(0o600);
    }
  });

  test('leaves an empty directory empty and denies', () => {
    const bed = makeBed({});
    expect(verdictOf(bed.open())).toBe('deny');
    expect(readdirSync(bed.directory)).toEqual([]);
  });

  test('does not check an unchanged set again, but anew for other tools, texts or evaluators', async () => {
    const bed = makeBed({ 'a.cedar': PERMIT_ALL });
    const { load, validations } = counting();
    bed.open({ load });
    await written(bed);
    const first = validations();
    expect(verdictOf(bed.open({ load }))).toBe('allow');
    expect(validations()).toBe(first);
    const other = makeTool({ inputSchema: { type: 'object', properties: { z: { type: 'boolean' } } } });
    bed.open({ load, tools: () => [other] });
    expect(validations()).toBeGreaterThan(first);
    expect(cedarVersion()).toBe(loadCedar().getCedarVersion());
  });

  test('reports a set that is new, and stays silent about one that was active before', async () => {
    const bed = makeBed({ 'a.cedar': PERMIT_ALL });
    const engine = bed.open();
    await written(bed);
    bed.open();
    expect(bed.events).toEqual([{ kind: 'policy-loaded', digest: engine.setDigest, ids: ['all'] }]);
  });

  test('keeps the last good set across a restart when a file is bad', async () => {
    const bed = makeBed({ 'a.cedar': PERMIT_ALL });
    const { setDigest } = bed.open();
    await written(bed);
    bed.write('a.cedar', 'permit(principal');
    bed.events.length = 0;
    const engine = bed.open();
    expect(verdictOf(engine)).toBe('allow');
    expect(engine.setDigest).toBe(setDigest);
    expect(bed.events).toMatchObject([{ kind: 'policy-refused', digest: setDigest }]);
    expect(engine.problems[0]).toMatchObject({ file: 'a.cedar', line: 1 });
  });

  test('keeps deciding for the other tools when a new tool does not fit the policies', async () => {
    const text = `${PERMIT_ALL}@id("long") forbid(principal, action == Action::"call", resource) when { context.input has ms && context.input.ms > 9 };`;
    const bed = makeBed({ 'a.cedar': text });
    bed.open();
    await written(bed);
    const odd = makeTool({
      id: 'odd',
      inputSchema: { type: 'object', properties: { ms: { type: 'string' } } },
    });
    const engine = bed.open({ tools: () => [...TOOLS, odd] });
    expect(engine.problems).not.toEqual([]);
    expect(verdictOf(engine)).toBe('allow');
    expect(authorize(engine, checkedCall(SLEEP, { ms: 10 }), FACTS).verdict).toBe('deny');
    const decision = authorize(engine, checkedCall(odd, { ms: 'x' }), FACTS);
    expect(decision).toMatchObject({ verdict: 'deny', refused: { code: 'policy/evaluation-error' } });
  });

  test('does not trust a remembered set whose texts were changed in the database', async () => {
    const bed = makeBed({ 'a.cedar': FORBID_ALL });
    bed.open();
    await written(bed);
    const sql = `UPDATE policy_set SET policies_json = replace(policies_json, 'forbid', 'permit')`;
    await bed.store.commit((tx) => tx.run({ sql: () => sql, bind: () => [] }, {}));
    expect(verdictOf(bed.open())).toBe('deny');
    bed.write('a.cedar', 'permit(');
    expect(bed.open().set).toBeNull();
  });

  test('keeps every set that was ever active, for the receipts that name it', async () => {
    const bed = makeBed({ 'a.cedar': PERMIT_ALL });
    const engine = bed.open();
    const { set, setDigest } = engine;
    bed.write('a.cedar', PERMIT_ALL + FORBID_ALL);
    engine.refresh();
    await written(bed);
    const sql = 'SELECT policies_json FROM policy_set WHERE digest = ?';
    const row = bed.store.get({ sql: () => sql, bind: () => [setDigest] }, {}) as { policies_json: string };
    expect(JSON.parse(row.policies_json)).toEqual(set?.policies);
  });
});

describe('refresh()', () => {
  test('takes over a changed file, refuses a bad one and keeps the old set until it is good', () => {
    const bed = makeBed({ 'a.cedar': PERMIT_ALL });
    const engine = bed.open();
    bed.write('a.cedar', PERMIT_ALL + FORBID_ALL);
    engine.refresh();
    expect(verdictOf(engine)).toBe('deny');
    bed.write('a.cedar', '@id("all") permit(principal');
    engine.refresh();
    expect(verdictOf(engine)).toBe('deny');
    bed.write('a.cedar', `${PERMIT_ALL}@id("none") forbid(principal, action, resource) when { false };`);
    engine.refresh();
    expect(verdictOf(engine)).toBe('allow');
    expect(bed.events.map(({ kind }) => kind)).toEqual([
      'policy-loaded',
      'policy-loaded',
      'policy-refused',
      'policy-loaded',
    ]);
  });

  test('reports the same bad content once', () => {
    const bed = makeBed({ 'a.cedar': PERMIT_ALL });
    const engine = bed.open();
    for (let i = 0; i < 3; i++) {
      bed.write('a.cedar', 'permit(');
      engine.refresh();
    }
    expect(bed.events.filter(({ kind }) => kind === 'policy-refused')).toHaveLength(1);
  });

  test('drops a policy only when a second look agrees, so that a half-written file takes no forbid away', () => {
    const bed = makeBed({ 'a.cedar': PERMIT_ALL + FORBID_ALL });
    const engine = bed.open();
    writeFileSync(join(bed.directory, 'a.cedar'), PERMIT_ALL);
    engine.refresh();
    expect(verdictOf(engine)).toBe('deny');
    writeFileSync(join(bed.directory, 'a.cedar'), PERMIT_ALL + FORBID_ALL);
    engine.refresh();
    expect(verdictOf(engine)).toBe('deny');
    writeFileSync(join(bed.directory, 'a.cedar'), PERMIT_ALL);
    engine.refresh();
    engine.refresh();
    expect(verdictOf(engine)).toBe('allow');
  });

  test('keeps the set when the directory is taken away and takes it again when it is back', () => {
    const bed = makeBed({ 'a.cedar': PERMIT_ALL });
    const engine = bed.open();
    rmSync(bed.directory, { recursive: true });
    engine.refresh();
    expect(verdictOf(engine)).toBe('allow');
    expect(engine.problems).toHaveLength(1);
    mkdirSync(bed.directory);
    bed.write('a.cedar', PERMIT_ALL);
    engine.refresh();
    expect(engine.problems).toEqual([]);
  });

  test('looks at the files at most once in reloadMs', () => {
    const bed = makeBed({ 'a.cedar': PERMIT_ALL });
    let now = 0;
    const engine = bed.open({ reloadMs: 250, clock: { nowMs: () => 0, monotonicMs: () => now } });
    bed.write('a.cedar', PERMIT_ALL + FORBID_ALL);
    now = 249;
    engine.refresh();
    expect(verdictOf(engine)).toBe('allow');
    now = 250;
    engine.refresh();
    expect(verdictOf(engine)).toBe('deny');
  });

  test('checks the policies again when a tool is added', () => {
    const bed = makeBed({
      'a.cedar': `${PERMIT_ALL}@id("odd") forbid(principal, action, resource == Tool::"odd");`,
    });
    const tools: Tool[] = [COUNT];
    const engine = bed.open({ tools: () => tools });
    expect(engine.warnings.map(({ policy }) => policy)).toEqual(['odd']);
    tools.push(makeTool({ id: 'odd' }));
    engine.refresh();
    expect(engine.warnings).toEqual([]);
  });

  test('asks for the tools and skills that the files name, and for no others', () => {
    const bed = makeBed({
      'a.cedar': `${PERMIT_ALL}@id("named") forbid(principal, action, resource in Skill::"acme.text") when { resource == Tool::"acme.text.words" };`,
    });
    const requested: NamedEntities[] = [];
    const tools = (named: NamedEntities) => {
      requested.push(named);
      return TOOLS;
    };
    const engine = bed.open({ tools });
    for (const named of requested) expect(named).toEqual(ACME_TEXT_NAMED);
    bed.write('a.cedar', `${PERMIT_ALL}@id("named") forbid(principal, action, resource == Tool::"b.c.d");`);
    requested.length = 0;
    engine.refresh();
    engine.refresh();
    expect(requested.length).toBeGreaterThan(1);
    for (const named of requested) expect(named).toEqual({ tools: new Set(['b.c.d']), skills: new Set() });
  });

  test('checks the policies again when a skill that they name comes or changes', () => {
    const scope = 'principal, action == Action::"call", resource in Skill::"acme.text"';
    const bed = makeBed({
      'a.cedar': `${PERMIT_ALL}@id("skilled") forbid(${scope}) when { context.input.text == "no" };`,
    });
    let words: Tool | null = null;
    const tools = ({ skills }: NamedEntities) =>
      words !== null && skills.has('acme.text') ? [...TOOLS, words] : TOOLS;
    const engine = bed.open({ tools });
    expect(engine.warnings.map(({ message }) => message)).toEqual([
      'Policy "skilled" matches no registered tool: its scope is Skill::"acme.text"',
    ]);
    words = WORDS;
    engine.refresh();
    expect([engine.warnings, engine.problems]).toEqual([[], []]);
    words = { ...WORDS, inputSchema: { type: 'object', properties: { text: { type: 'integer' } } } };
    engine.refresh();
    expect(engine.problems[0]).toMatchObject({ policy: 'skilled' });
    expect(verdictOf(engine)).toBe('allow');
  });

  test('keeps a decision only as long as the tools that the files name stay as they are', () => {
    const bed = makeBed({
      'a.cedar': `${PERMIT_ALL}permit(principal, action, resource in Skill::"acme.text");`,
    });
    const words: Tool[] = [];
    const engine = bed.open({
      tools: ({ skills }) => (skills.has('acme.text') ? [...TOOLS, ...words] : TOOLS),
    });
    const digest = engine.setDigest;
    if (digest === null) throw new Error('no set');
    expect(engine.holds(digest)).toBe(true);
    words.push(WORDS);
    expect(engine.holds(digest)).toBe(false);
    engine.refresh();
    expect(engine.holds(digest)).toBe(true);
  });

  test('keeps its memory flat over many swaps', () => {
    const bed = makeBed({ 'a.cedar': PERMIT_ALL });
    const names = new Set<string>();
    const load = (): Cedar => {
      const cedar = loadCedar();
      const preparsePolicySet: Cedar['preparsePolicySet'] = (id, set) => {
        names.add(id);
        return cedar.preparsePolicySet(id, set);
      };
      return { ...cedar, preparsePolicySet };
    };
    const engine = bed.open({ load });
    for (let i = 0; i < 6; i++) {
      bed.write('a.cedar', `${PERMIT_ALL}@id("n") forbid(principal, action, resource) when { ${i} == 100 };`);
      engine.refresh();
      expect(verdictOf(engine)).toBe('allow');
    }
    // Cedar frees a set only by reusing its name: two in the deciding instance, one in the trials.
    expect([...names].sort()).toEqual(['blue', 'green', 'trial']);
  });

  test('replaces an instance that has seen too many types of input, and decides the same', () => {
    let loads = 0;
    const load = () => {
      loads += 1;
      return loadCedar();
    };
    const text = `${PERMIT_ALL}@id("named") forbid(principal, action == Action::"call", resource) when { resource == Tool::"tool-299" && context has input };`;
    const engine = makeBed({ 'a.cedar': text }).open({ load });
    const before = loads;
    const verdicts = Array.from({ length: 300 }, (_, i) => {
      const inputSchema = { type: 'object', properties: { [`field${i}`]: { type: 'string' } } };
      return authorize(engine, checkedCall(makeTool({ id: `tool-${i}`, inputSchema }), {}), FACTS).verdict;
    });
    expect(verdicts.lastIndexOf('allow')).toBe(298);
    expect(verdicts.filter((verdict) => verdict === 'deny')).toHaveLength(1);
    expect(loads - before).toBe(2);
  });
});
