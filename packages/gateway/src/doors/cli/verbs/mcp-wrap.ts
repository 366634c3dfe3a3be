import { CodedError } from '../../../core/coded-error.ts';
import type { Invocation } from '../verb.ts';
import { wrappedRule } from '../wrapped-rule.ts';
import { clientOf, serveClient } from './mcp.ts';

/** What most often keeps a server from starting that does start by hand. */
const IN_THE_JAIL =
  'It starts in a jail: give its files by --read-only PATH and its hosts by --allow-host ENTRY; what `npx` or `uvx` would fetch has to be installed before.';

/*
 * One MCP server in a sandbox, for a client that would have started it by itself: the client speaks to us, and we speak to
 * the server. What the client sees are the tools that were accepted, and every call of one goes along the line.
 */
export async function run(invocation: Invocation): Promise<number> {
  const { print } = invocation;
  const rule = wrappedRule(invocation);
  const principal = clientOf(invocation);
  const gateway = await invocation.openGateway({ upstreams: [rule], isLasting: true });
  try {
    const { tenant } = gateway.config.gateway;
    const status = await gateway.upstreams.connect(rule.name, { principal, tenant });
    if ('reason' in status) {
      // The client is served all the same: it sees no tools, and whoever reads its log sees why.
      print.note('quarantined', 'red', `  ${rule.name}: ${status.reason}`);
      print.note('→', 'cyan', ` palisade upstream show ${rule.name}`);
    }
  } catch (error) {
    await gateway.close();
    if (!(error instanceof CodedError) || error.code !== 'tier/upstream-failed') throw error;
    throw new CodedError(error.code, `Cannot wrap "${rule.name}": ${error.message}`, {
      remedy: rule.tier === 'c' ? IN_THE_JAIL : error.remedy,
    });
  }
  return serveClient(invocation, { ...gateway, registry: gateway.registry.ofUpstreams() });
}
