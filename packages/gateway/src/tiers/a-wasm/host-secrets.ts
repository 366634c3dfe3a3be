import { CodedError } from '../../core/coded-error.ts';
import type { SecretGrant } from '../../core/wasm.ts';
import type { BoundSecret } from '../../egress/secrets.ts';
import { boundTo } from '../../runner/host-lists.ts';

type IsFor = BoundSecret['isFor'];

/** Where the operator lets each secret go, by its name; one that is not named is bound by its grant alone. */
export type OperatorSecrets = ReadonlyMap<string, { readonly isFor: IsFor }>;

/** Where the value of a granted secret may go: to the hosts of its grant that the operator's list has as well. */
export function secretHosts({ name, hosts }: SecretGrant, operator: OperatorSecrets): IsFor {
  const isGranted = grantedTo(hosts);
  const isAllowed = operator.get(name)?.isFor ?? (() => true);
  return (host, port) => isGranted(host, port) && isAllowed(host, port);
}

/** Boundary: hosts that cannot be read are nobody, and no hosts are nobody either. */
function grantedTo(hosts: readonly string[]): IsFor {
  try {
    return boundTo(hosts, 'hosts');
  } catch (error) {
    if (!(error instanceof CodedError)) throw error;
    return () => false;
  }
}
