/*
 * An upstream server as a tool: the command that the operator configured, which a session starts. It is judged and
 * recorded like every command, under its own name, so that policies can refer to it; no caller can request it directly,
 * and it acts only through calls of its tools.
 */
import type { Code } from '@palisade/sdk';
import type { UpstreamRule } from '../config/config.ts';
import { CodedError } from '../core/coded-error.ts';
import { LIMIT_CEILINGS } from '../core/limits.ts';
import { type Refused, type RefusedCode, refuse } from '../core/outcome.ts';
import type { PrepareProcess, Tool } from '../core/tool.ts';
import { requireWhole } from '../packages/packaged-server.ts';
import { UPSTREAM_CATEGORY } from '../policy/entities.ts';
import { settle } from '../runner/forbidden.ts';
import { allowListOf } from '../runner/host-lists.ts';
import type { ProcessInput } from '../runner/input.ts';
import type { RunnerSettings } from '../runner/settings.ts';
import type { RunnerDeps } from '../runner/terms.ts';
import { prepareCommand } from './process-tool.ts';

/** Distinguishes a server from its tools in the same category: a starter policy lets every principal start one. */
const SERVER_CAPABILITY = 'upstream-server';

/** How much of its standard error is kept. */
const KEPT_BYTES = 64 * 1024;

/** The id under which a server is started and recorded. */
export function serverId(name: string): string {
  return `palisade.upstream.${name}`;
}

/** The server as policies judge it; it cannot be called. */
export function serverTool(rule: UpstreamRule): Tool {
  return makeServer(rule, async () =>
    refuse(
      'registry/invalid-input',
      `Cannot call "${serverId(rule.name)}": it is a server, expected one of its tools`,
      `List its tools with \`palisade upstream show ${rule.name}\`.`,
    ),
  );
}

/** The same server, for a session that starts it. */
export function startedServer(rule: UpstreamRule, settings: RunnerSettings, deps: RunnerDeps): Tool {
  return makeServer(rule, async () => {
    const refused = refusalOfPackage(rule);
    return refused ?? prepareCommand(inputOf(rule), settingsFor(rule, settings), deps);
  });
}

/** Boundary: a package starts as it was fetched, or not at all. */
function refusalOfPackage(rule: UpstreamRule): Refused | null {
  try {
    requireWhole(rule);
    return null;
  } catch (error) {
    if (!(error instanceof CodedError) || !isPackageCode(error.code)) throw error;
    return refuse(error.code, error.message, error.remedy);
  }
}

function isPackageCode(code: Code): code is Extract<RefusedCode, `package/${string}`> {
  return code.startsWith('package/');
}

function makeServer({ name, tier }: UpstreamRule, prepare: PrepareProcess): Tool {
  return {
    id: serverId(name),
    description: `The upstream server "${name}", which the operator configured. Calls of its tools start it.`,
    category: UPSTREAM_CATEGORY,
    // Starting it has no effect; its tools are judged call by call, with the risk that the operator configured.
    risk: 'low',
    inputSchema: { type: 'object', properties: {}, additionalProperties: false },
    outputSchema: {},
    capabilities: ['process', SERVER_CAPABILITY],
    tier,
    limits: { ...LIMIT_CEILINGS, fuel: 0, outputBytes: KEPT_BYTES },
    hosts: () => [],
    paths: () => [],
    artifacts: [],
    executor: { kind: 'process', prepare },
  };
}

function inputOf({ command, env, tier, workspace, allowHosts, secrets }: UpstreamRule): ProcessInput {
  const [program = '', ...args] = command;
  const none = { cwd: null, stdin: '', allowWrites: [], ports: [], limits: {}, outputOverflow: null };
  const asked = { ...none, workspace, tier, secrets, egressHosts: allowHosts };
  return { command: program, args, egress: 'strict', env: Object.fromEntries(env.map(pairOf)), ...asked };
}

function pairOf(text: string): readonly [string, string] {
  const at = text.indexOf('=');
  return [text.slice(0, at), text.slice(at + 1)];
}

/** What the operator configured for this server is a setting, not a request of a caller. */
function settingsFor(rule: UpstreamRule, settings: RunnerSettings): RunnerSettings {
  const workspace = rule.workspace === null ? settings.defaultWorkspace : settle(rule.workspace);
  const { wallMs, cpuMs } = settings.ceilings;
  return {
    ...settings,
    workspaceRoots: workspace === null ? [] : [settle(workspace)],
    defaultWorkspace: workspace,
    allowedExecutables: 'any',
    interpreters: 'any',
    envAllow: rule.env.map((each) => pairOf(each)[0]),
    envOfOperator: true,
    readOnly: [...settings.readOnly, ...rule.readOnly.map(settle)],
    // Tier B cannot protect paths, and a server of that tier has the whole workspace.
    protectedPaths: rule.tier === 'b' ? [] : settings.protectedPaths,
    // It lives for many calls; each of them has its own limits.
    defaults: { ...settings.defaults, wallMs, cpuMs, outputBytes: KEPT_BYTES },
    egressHosts: allowListOf(rule.allowHosts, `upstream "${rule.name}" allow_hosts`),
    loosestEgress: 'strict',
  };
}
