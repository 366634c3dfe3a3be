import { CODES } from '@palisade/sdk';
import { CodedError } from '../../../core/coded-error.ts';
import { sentenceOf } from '../../../core/result.ts';
import { DEFAULT_PORTS, formatAuthority, parseAuthority, parseHttpUrl } from '../../../egress/authority.ts';
import { decide, type EgressDecision, type EgressRequest } from '../../../egress/decide.ts';
import { type RunnerSettings, settingsOf } from '../../../runner/settings.ts';
import { textOf } from '../input.ts';
import type { Invocation } from '../verb.ts';

const OPENED = 'TLS to it is opened for commands: the method and the path inside are decided upon';
const CLOSED = 'TLS to this host is not opened, which process.egress_intercept would do';

/** Shows what the allow-list says to a request, and what commands get of it. Nothing is looked up and nothing is sent. */
export async function run(invocation: Invocation): Promise<number> {
  const { args, print } = invocation;
  const [target = ''] = args;
  const method = textOf(invocation, 'method') ?? 'GET';
  const records = await invocation.openRecords();
  try {
    const settings = settingsOf(records.config, null);
    const { entries } = settings.egressHosts;
    const request = requestOf(target, method);
    const decision = decide(settings.egressHosts, request);
    const asked = formatAuthority(request.host, request.port);
    const seen = seenBy(settings, request, decision);
    if (print.json) print.document({ target, asked, ...decision, entries, ...seen });
    else {
      const isAllowed = decision.verdict === 'allow';
      print.styled(isAllowed ? 'green' : 'red', isAllowed ? 'allowed' : 'denied ', ` ${asked}`);
      print.line(decision.why);
      if (entries.length === 0) print.line('The list is empty: process.egress_hosts in palisade.toml.');
      for (const note of seen.notes) print.line(note);
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
    throw new CodedError('door/wrong-usage', sentenceOf(url.problem));
  }
  const authority = parseAuthority(target);
  if (!authority.ok) throw new CodedError('door/wrong-usage', sentenceOf(authority.problem));
  return { host: authority.value.host, port: authority.value.port ?? DEFAULT_PORTS.https };
}

/** What the proxy of a command sees of the request, and the secrets that it would put in. */
function seenBy(settings: RunnerSettings, request: EgressRequest, { verdict }: EgressDecision) {
  const { host, port, scheme } = request;
  const intercepted = scheme !== 'http' && settings.isIntercepted(host);
  const isOpaque = scheme !== 'http' && !intercepted;
  const secrets = [...settings.secrets.values()].filter(({ isFor }) => isFor(host, port));
  const notes = [
    ...(intercepted ? [`${OPENED}${scheme === undefined ? ', which a URL would say' : ''}.`] : []),
    ...(isOpaque && verdict === 'allow' && decide(settings.egressHosts, { host, port }).verdict === 'deny'
      ? [`A command cannot ask for it: ${CLOSED}.`]
      : []),
    ...secrets.map(({ name, variable }) =>
      isOpaque
        ? `The secret "${name}" is for it and cannot be put in: ${CLOSED}.`
        : `The secret "${name}" is for it; a command that has it finds it in ${variable}.`,
    ),
  ];
  return { intercepted, secrets: secrets.map(({ name }) => name), notes };
}
