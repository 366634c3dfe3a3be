import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { toolName } from '../../packages/gateway/src/doors/mcp/tool-name.ts';
import type { Answer } from '../../packages/gateway/test/doors/http/open-door.ts';
import { bearer } from '../../packages/gateway/test/doors/http/open-door.ts';
import { makeTool, recordsOf } from '../../packages/gateway/test/fixture/gateway.ts';
import { openTestDaemon, type TestDaemon } from '../fixtures/door/daemon.ts';
import { askMcp, callMcp, modern, openSession } from '../fixtures/door/mcp.ts';
import { sample } from '../volume/volume.ts';

/* An agent looks for tools that it may not call, in everything that any door says. */

const POLICIES = `
@id("calls") permit(principal, action == Action::"call", resource);
@id("only-grace") forbid(principal is Agent, action == Action::"call", resource == Tool::"vault.open");
@id("reads") permit(principal is User, action == Action::"readJournal", resource);
`;
/** Of the same length, so that a length tells nothing either. */
const HIDDEN = 'vault.open';
const ABSENT = 'vault.ajar';

async function openHouse() {
  const schema = { type: 'object', properties: { key: { type: 'integer' } }, required: ['key'] } as const;
  const tools = [
    makeTool('test.echo', async (input) => input),
    makeTool(HIDDEN, async () => 'open', { inputSchema: schema, description: 'Opens the vault.' }),
  ];
  const daemon = await openTestDaemon({ policies: POLICIES, tools });
  const ada = await daemon.token({ principal: 'agent:ada', scopes: ['call', 'read'] });
  const grace = await daemon.token({ principal: 'user:grace', scopes: ['call', 'read'] });
  return { daemon, ada, grace };
}

/** All that an answer says, without what is different in every answer. */
function plain({ status, headers, text }: Pick<Answer, 'status' | 'headers' | 'text'>): string {
  const { date: _, ...rest } = headers;
  return JSON.stringify({ status, rest, text })
    .replaceAll(HIDDEN, 'TOOL')
    .replaceAll(ABSENT, 'TOOL')
    .replace(/call_[0-9a-z]{25}/g, 'CALL')
    .replace(/mcp_[0-9a-z]{25}/g, 'RUN')
    .replace(/"mcp-session-id":"[^"]+"/g, 'SESSION');
}

const INPUTS = [{ key: 1 }, {}, { key: 'wrong' }, [], 'text'];

describe('a tool that its caller may not call', () => {
  test('is answered over HTTP like one that is not there, to the header', async () => {
    const { daemon, ada, grace } = await openHouse();
    const look = async (tool: string, token: string) => {
      const observed: string[] = [];
      for (const input of INPUTS) {
        for (const accept of ['application/json', 'text/event-stream']) {
          for (const more of [{}, { 'idempotency-key': `k-${JSON.stringify(input)}` }]) {
            const made = await daemon.call(token, tool, { input, headers: { accept, ...more } });
            const [callId = ''] = /call_[0-9a-z]{25}/.exec(made.text) ?? [];
            observed.push(plain(made));
            for (const part of ['', '/receipt', '/output'])
              observed.push(
                plain(await daemon.ask(`/v1/calls/${callId}${part}`, { headers: bearer(token) })),
              );
          }
        }
      }
      for (const method of ['GET', 'HEAD', 'POST', 'OPTIONS'])
        observed.push(plain(await daemon.ask(`/v1/tools/${tool}`, { method, headers: bearer(token) })));
      return observed;
    };
    expect(await look(HIDDEN, ada)).toEqual(await look(ABSENT, ada));
    expect(await look(HIDDEN, grace)).not.toEqual(await look(ABSENT, grace));
    const list = async (token: string) => (await daemon.ask('/v1/tools', { headers: bearer(token) })).text;
    expect(await list(ada)).not.toContain('vault');
    expect(await list(grace)).toContain(HIDDEN);
    const codes = recordsOf(daemon.gateway).flatMap(({ kind, line }) =>
      kind === 'refused' ? [JSON.parse(line).body.code] : [],
    );
    // The journal knows better.
    expect(codes).toContain('policy/denied');
  });

  test('is answered over MCP like one that is not there, also when its calls are read afterwards', async () => {
    const { daemon, ada, grace } = await openHouse();
    const look = async (tool: string, token: string) => {
      const observed: string[] = [];
      const { request } = await openSession(daemon, token);
      for (const input of INPUTS.slice(0, 3)) {
        const params = { name: tool, arguments: input } as {
          name: string;
          arguments: Record<string, number>;
        };
        observed.push(plain(await askMcp(daemon, modern(token, 'tools/call', params))));
        observed.push(plain(await askMcp(daemon, request('tools/call', params))));
      }
      const { message } = await askMcp(daemon, modern(token, 'resources/list'));
      const mine = message.result.resources.filter(({ title }: { title: string }) => title.includes(tool));
      for (const resource of mine) {
        observed.push(
          JSON.stringify(resource)
            .replace(/call_[0-9a-z]{25}/g, 'CALL')
            .replaceAll(tool, 'TOOL'),
        );
        const { uri } = resource;
        for (const each of [uri, uri.replace('/output', '/receipt')])
          observed.push(plain(await askMcp(daemon, modern(token, 'resources/read', { uri: each }))));
        const prompt = { name: 'explain-refusal', arguments: { call: uri.split('/')[3] } };
        observed.push(plain(await askMcp(daemon, modern(token, 'prompts/get', prompt))));
      }
      expect(mine.length).toBeGreaterThan(0);
      // Calls of one moment have no order.
      return observed.sort();
    };
    expect(await look(HIDDEN, ada)).toEqual(await look(ABSENT, ada));
    expect(await look(HIDDEN, grace)).not.toEqual(await look(ABSENT, grace));
  });

  test('stands in no list, no completion and no document that the agent can read', async () => {
    const { daemon, ada, grace } = await openHouse();
    const { request } = await openSession(daemon, ada);
    const received: string[] = [];
    for (const method of [
      'tools/list',
      'resources/list',
      'resources/templates/list',
      'prompts/list',
      'server/discover',
    ])
      received.push((await askMcp(daemon, modern(ada, method))).text);
    for (const ref of [
      { type: 'ref/prompt', name: 'explain-refusal' },
      { type: 'ref/resource', uri: 'palisade://calls/{id}/output' },
    ])
      received.push(
        (
          await askMcp(
            daemon,
            request('completion/complete', { ref, argument: { name: 'call', value: 'vault' } }),
          )
        ).text,
      );
    for (const path of [
      '/openapi.json',
      '/docs',
      '/v1/tools?limit=1000',
      '/v1/calls',
      '/metrics',
      '/v1/tools?cursor=vault.a',
    ])
      received.push((await daemon.ask(path, { headers: bearer(ada) })).text);
    expect(received.filter((text) => /vault[._]/.test(text))).toEqual([]);
    expect((await askMcp(daemon, modern(grace, 'tools/list'))).text).toContain(toolName(HIDDEN));
  });

  test('is there, and gone, from the moment that the policies say so', async () => {
    const { daemon, ada } = await openHouse();
    const sees = async () => ({
      http: (await daemon.ask('/v1/tools', { headers: bearer(ada) })).text.includes(HIDDEN),
      mcp: (await askMcp(daemon, modern(ada, 'tools/list'))).text.includes(toolName(HIDDEN)),
      runs:
        (await callMcp(daemon, ada, HIDDEN, { key: 1 })).message.result?.isError === undefined &&
        (await daemon.call(ada, HIDDEN, { input: { key: 1 } })).status === 200,
    });
    const set = (text: string) => {
      writeFileSync(join(daemon.stateDir, 'policies/test.cedar'), text);
      daemon.gateway.policy.reload();
    };
    expect(await sees()).toEqual({ http: false, mcp: false, runs: false });
    set(POLICIES.replace('resource == Tool::"vault.open"', 'resource == Tool::"test.echo"'));
    expect(await sees()).toEqual({ http: true, mcp: true, runs: true });
    set(POLICIES);
    expect(await sees()).toEqual({ http: false, mcp: false, runs: false });
  });
});

describe('what an agent is shown', () => {
  /** Each may hide or show the tool; what runs must agree with what is listed. */
  const CONDITIONS = [
    'when { resource.risk == "low" }',
    'unless { resource.risk == "low" }',
    'when { principal in Group::"staff" }',
    'when { resource in Category::"test" && principal is Agent }',
    'when { resource in Category::"test" || context.approved }',
    'unless { resource in Category::"test" && context.approved }',
    'when { if resource.risk == "low" then principal is User else true }',
    'when { ["low", "medium"].contains(resource.risk) }',
    'when { !(principal is Agent) }',
    'when { resource in [Tool::"vault.open", Tool::"other"] }',
    'when { principal == Agent::"ada" } unless { principal == Agent::"ada" }',
  ];

  test.each(sample(CONDITIONS, 2))(
    'is every tool that a call can be permitted to: permit %s',
    async (condition) => {
      const policies = `@id("base") permit(principal, action == Action::"call", resource == Tool::"test.echo");\n@id("it") permit(principal, action == Action::"call", resource) ${condition};\n`;
      await agrees(policies);
    },
  );

  test.each(sample(CONDITIONS, 2))(
    'is every tool that a call can be permitted to: forbid %s',
    async (condition) => {
      const policies = `@id("base") permit(principal, action == Action::"call", resource);\n@id("it") forbid(principal, action == Action::"call", resource) ${condition};\n`;
      await agrees(policies);
    },
  );

  /** No call of a tool that is not listed may run. */
  async function agrees(policies: string): Promise<void> {
    const daemon: TestDaemon = await openTestDaemon({
      policies,
      tools: [makeTool(HIDDEN, async () => 'open'), makeTool('test.echo', async (input) => input)],
    });
    const ada = await daemon.token({ principal: 'agent:ada' });
    const listed = (await daemon.ask('/v1/tools?limit=1000', { headers: bearer(ada) })).json.tools.map(
      ({ id }: { id: string }) => id,
    );
    for (const tool of [HIDDEN, 'test.echo'])
      for (const input of [{}, { key: 1 }]) {
        const { status, json } = await daemon.call(ada, tool, { input });
        if (status === 200 || json.code === 'policy/approval-required') expect(listed).toContain(tool);
        if (!listed.includes(tool)) expect(json.code).toBe('registry/unknown-tool');
      }
  }
});
