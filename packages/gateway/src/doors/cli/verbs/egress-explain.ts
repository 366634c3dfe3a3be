import { CODES } from '@palisade/sdk';
import { CodedError } from '../../../core/coded-error.ts';
import { formatAuthority, parseAuthority } from '../../../egress/authority.ts';
import { decide, type EgressRequest } from '../../../egress/decide.ts';
import { DEFAULT_PORTS, parseHttpUrl } from '../../../egress/http-url.ts';
import { allowListOf } from '../../../runner/settings-of.ts';
import { textOf } from '../input.ts';
import type { Invocation } from '../verb.ts';

/** Shows what the allow-list says to a request. Nothing is looked up and nothing is sent. */
export async function run(invocation: Invocation): Promise<number> {
  const { args, print } = invocation;
  const [target = ''] = args;
  const method = textOf(invocation, 'method') ?? 'GET';
  const records = await invocation.openRecords();
  try {
    const list = allowListOf(records.config.process.egressHosts);
    const request = requestOf(target, method);
    const decision = decide(list, request);
    const asked = formatAuthority(request.host, request.port);
    if (print.json) print.document({ target, asked, ...decision, entries: list.entries });
    else {
      const isAllowed = decision.verdict === 'allow';
      print.styled(isAllowed ? 'green' : 'red', isAllowed ? 'allowed' : 'denied ', ` ${asked}`);
      print.line(decision.why);
      if (list.entries.length === 0) print.line('The list is empty: process.egress_hosts in palisade.toml.');
    }
    return decision.verdict === 'allow' ? 0 : CODES['policy/denied'].exitStatus;
  } finally {
    await records.close();
  }
}

/** A URL says all that an entry can ask for; of a host with a port the rest is not known, as in a tunnel. */
function requestOf(target: string, method: string): EgressRequest {
  if (target.includes('://')) {
    const url = parseHttpUrl(target);
    if (url.ok) return { ...url.value, method };
    throw new CodedError('door/wrong-usage', url.why);
  }
  const authority = parseAuthority(target);
  if (!authority.ok) throw new CodedError('door/wrong-usage', authority.why);
  return { host: authority.value.host, port: authority.value.port ?? DEFAULT_PORTS.https };
}
