/*
 * Ports of a run that are reachable from the host. A call asks for them, the operator grants them (`process.ports`), and
 * only a run with a network of its own has any to forward: one that shares the host's listens there already.
 */
import { CodedError } from '../core/coded-error.ts';
import { formatPort, MOST_PORTS, type PortForward, type PortRange } from '../core/ports.ts';
import type { EgressMode, ProcessTierName } from '../core/process.ts';
import type { JsonSchema } from '../core/tool.ts';

/** How a call asks for ports. */
export const PORTS_SCHEMA: JsonSchema = {
  type: 'array',
  maxItems: MOST_PORTS,
  items: { type: ['integer', 'string'] },
  description:
    'Ports that the command listens on and that the host reaches on 127.0.0.1 while it runs: 5173, or "8080:5173" for port 8080 of the host. The operator has to grant each.',
};

type Asked = {
  readonly ports: readonly PortForward[];
  readonly egress: EgressMode;
  readonly tier: ProcessTierName;
};

/** Boundary: a call gets the ports that the operator granted, where the kernel gives the run a network of its own. */
export function demandPorts({ ports, egress, tier }: Asked, granted: readonly PortRange[]): void {
  const [first] = ports;
  if (first === undefined) return;
  const denied = ports.find(({ host }) => !granted.some(({ from, to }) => from <= host && host <= to));
  if (denied !== undefined) {
    const grant = `Add "${denied.host}" to process.ports in palisade.toml`;
    throw notAllowed(
      `it asks for port ${denied.host} of the host, expected one that process.ports grants`,
      `${grant}; a gateway that is running reads it when it is started again.`,
    );
  }
  const asked = `it asks for the port ${formatPort(first)}`;
  if (egress !== 'strict')
    throw notAllowed(
      `${asked} with the egress "${egress}", expected "strict"`,
      'Leave the ports out: with this egress the command listens on the network of the host itself.',
    );
  if (tier !== 'c')
    throw notAllowed(
      `${asked} in tier b, expected tier c, where a run has a network of its own`,
      'Ask for tier c.',
    );
}

function notAllowed(what: string, remedy: string): CodedError {
  return new CodedError('runner/not-allowed', `Cannot run the command: ${what}`, { remedy });
}
