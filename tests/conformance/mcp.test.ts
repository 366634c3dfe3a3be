import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type BearerProxy, startBearerProxy } from '../fixtures/mcp/bearer-proxy.ts';
import {
  type McpSetup,
  makeMcpSetup,
  mintToken,
  operate,
  type Serving,
  serve,
} from '../fixtures/mcp/setup.ts';
import { request } from '../fixtures/mcp/wire.ts';
import { checksThat, expectedFailures, requiredBy, runSuite, type Scenario, type SuiteRun } from './suite.ts';

/*
 * The conformance suite of the protocol's authors against a real `palisade serve`. What its scenarios call are tools,
 * resources and prompts of a fixture server that stands behind Palisade, in a sandbox: every one of those calls was
 * decided by policies, ran in the jail and has a receipt. Numbers are exact, so that what is skipped in silence fails.
 */

const FIXTURE = new URL('./fixture-server.mjs', import.meta.url);

const tomlOf = (era: string) => `
[mcp]
elicitation = "on"

[[upstream]]
name = "fixture"
command = ["node", "fixture-server.mjs"]
workspace = "WORKSPACE"
env = ["ERA=${era}"]
prefix = ""
risk = "low"
tier = "c"
elicitation = "on"

[[upstream]]
name = "changing"
command = ["node", "fixture-server.mjs"]
workspace = "WORKSPACE"
env = ["ERA=${era}", "PART=changing"]
prefix = ""
risk = "low"
tier = "c"
`;

const ERAS = [
  {
    ...{ revision: '2026-07-28', era: 'modern', required: 37, passed: 112, whole: 33 },
    beside: ['http-header-validation'],
  },
  {
    ...{ revision: '2025-11-25', era: 'legacy', required: 30, passed: 67, whole: 27 },
    beside: ['server-session-lifecycle'],
  },
];

describe.each(ERAS)('revision $revision', ({ revision, era, required, passed, whole, beside }) => {
  const baseline = new URL(`./expected-failures-${revision}.yml`, import.meta.url);
  let setup: McpSetup;
  let serving: Serving;
  let proxy: BearerProxy;
  let ran: SuiteRun;
  let scored: readonly Scenario[];

  beforeAll(async () => {
    setup = makeMcpSetup({ toml: tomlOf(era), scripts: [FIXTURE] });
    await operate(setup, 'upstream', 'refresh');
    const token = await mintToken(setup, 'user:suite', '--scopes', 'call,approve');
    serving = await serve(setup);
    // The first call starts the server, which takes longer than the suite waits for some answers.
    for (const name of ['test_simple_text', 'start'])
      await request(serving.url, token, 'tools/call', { name, arguments: {} });
    proxy = await startBearerProxy(serving.url, token);
    ran = await runSuite(proxy.url, revision, baseline);
    scored = ran.scenarios.filter(({ name }) => requiredBy(revision).includes(name));
  });

  afterAll(async () => {
    await proxy?.stop();
    await serving?.stop();
    setup?.remove();
  });

  test('the suite ends well', () => {
    expect(ran.ok, ran.output).toBe(true);
  });

  test('every scenario that it asks for ran, and so many checks passed', () => {
    expect(requiredBy(revision)).toHaveLength(required);
    expect(scored).toHaveLength(required);
    expect(checksThat(scored, 'SUCCESS')).toHaveLength(passed);
  });

  test('nothing failed but what is expected to, and the other scenarios passed as a whole', () => {
    const failed = checksThat(scored, 'FAILURE', 'WARNING');
    expect(failed).toEqual(expectedFailures(baseline));
    expect(scored.filter(({ checks }) => isWhole(checks))).toHaveLength(whole);
  });

  test('some scenarios passed that it does not ask for', () => {
    const names = ran.scenarios.filter(({ checks }) => isWhole(checks)).map(({ name }) => name);
    expect(names).toEqual(expect.arrayContaining(beside));
  });

  test.each([
    'test_image_content',
    'palisade.upstream.fixture.resources.read',
    'palisade.upstream.fixture.prompts.get',
    'palisade.upstream.fixture.completion.complete',
  ])('%s went along the line, in the name of the credential', async (tool) => {
    type Found = { readonly records: readonly { readonly principal: string }[] };
    const words = ['--kind', 'ended', '--tool', tool];
    const { records } = await operate<Found>(setup, 'journal', 'search', ...words);
    expect(records.length).toBeGreaterThan(0);
    expect(new Set(records.map(({ principal }) => principal))).toEqual(new Set(['user:suite']));
  });
});

function isWhole(checks: Scenario['checks']): boolean {
  return checks.every(({ status }) => status !== 'FAILURE' && status !== 'WARNING');
}
