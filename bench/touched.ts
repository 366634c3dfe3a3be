/* Three calls whose way through the sources tools/touched.mjs counts: each gateway is opened first and has made no call. */

import { once } from 'node:events';
import { chmodSync, mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { readEnvironment } from '../packages/gateway/src/config/environment.ts';
import { loadConfig } from '../packages/gateway/src/config/load.ts';
import { ALL_SCOPES } from '../packages/gateway/src/core/caller.ts';
import { openDaemon } from '../packages/gateway/src/doors/http/open-daemon.ts';
import { invoke } from '../packages/gateway/src/invoke/invoke.ts';
import { mintToken } from '../packages/gateway/src/invoke/tokens.ts';
import { openGateway, systemClock } from '../packages/gateway/src/open.ts';
import { moduleTool } from '../tests/fixtures/modules/tool.ts';
import { echoCall, never } from './bed.ts';
import { echoOfOurs } from './module-guests.ts';

export type TouchedCall = {
  /** Makes the call and gives the code that it ended with. */
  readonly call: () => Promise<string>;
  readonly close: () => Promise<void>;
};

const HOUR_MS = 3_600_000;
const common = { env: readEnvironment({}), version: '0.0.0' } as const;

/** What is measured, by name; `scratch` is a directory outside /tmp, which a jail has one of its own of. */
export const CALLS: Readonly<Record<string, (scratch: string) => Promise<TouchedCall>>> = {
  'an echo call': async (scratch) => {
    const gateway = await openGateway({ stateDir: stateIn(scratch), ...common });
    const call = async () => (await invoke(gateway, echoCall(), never())).outcome.code;
    return { call, close: gateway.close };
  },
  'a WASM call over HTTP': wasmOverHttp,
  'a jailed command with a network': jailedCommand,
};

function stateIn(scratch: string, config = ''): string {
  const stateDir = mkdtempSync(join(scratch, 'state-'));
  mkdirSync(join(stateDir, 'policies'), { mode: 0o700 });
  writeFileSync(join(stateDir, 'policies/all.cedar'), '@id("all")\npermit (principal, action, resource);\n');
  writeFileSync(join(stateDir, 'palisade.toml'), config, { mode: 0o600 });
  return stateDir;
}

async function wasmOverHttp(scratch: string): Promise<TouchedCall> {
  const stateDir = stateIn(scratch);
  const tools = [moduleTool('bench.echo', echoOfOurs())];
  const tokens: string[] = [];
  const { port, close } = await openDaemon({
    stateDir,
    config: await loadConfig({ stateDir }),
    listen: '127.0.0.1:0',
    version: '0.0.0',
    cwd: stateDir,
    pid: process.pid,
    owner: { kind: 'user', name: 'bench' },
    clock: systemClock,
    log: () => undefined,
    openGateway: async (more) => {
      const gateway = await openGateway({ stateDir, ...common, tools, ...more, isLasting: false });
      const { token } = await mintToken(
        gateway,
        { kind: 'user', name: 'bench' },
        {
          principal: { kind: 'agent', name: 'ada' },
          tenant: 'default',
          scopes: ['call'],
          expiresAtMs: systemClock.nowMs() + HOUR_MS,
          label: '',
          held: new Set(ALL_SCOPES),
        },
      );
      tokens.push(token);
      return gateway;
    },
  });
  const call = async () => {
    const response = await fetch(`http://127.0.0.1:${port}/v1/calls`, {
      method: 'POST',
      headers: { authorization: `Bearer ${tokens[0]}`, 'content-type': 'application/json' },
      body: JSON.stringify({ tool: 'bench.echo', input: { a: 1 } }),
    });
    return ((await response.json()) as { code: string }).code;
  };
  return { call, close };
}

async function jailedCommand(scratch: string): Promise<TouchedCall> {
  chmodSync(scratch, 0o711);
  const server = createServer((_, response) => response.end('hello\n')).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const at = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  const stateDir = stateIn(scratch, `[process]\negress_hosts = ["http://${at}"]\n`);
  const workspace = mkdtempSync(join(scratch, 'work-'));
  const gateway = await openGateway({ stateDir, ...common, env: readEnvironment(), workspaces: [workspace] });
  const input = {
    command: 'curl',
    args: ['-sS', `http://${at}/`],
    tier: 'c',
    egress: 'strict',
    egress_hosts: [`http://${at}`],
  };
  const call = async () => {
    const asked = { ...echoCall(), tool: 'palisade.process.run', rawInput: JSON.stringify(input) };
    return (await invoke(gateway, asked, never())).outcome.code;
  };
  const close = async () => {
    server.close();
    server.closeAllConnections();
    await gateway.close();
  };
  return { call, close };
}
